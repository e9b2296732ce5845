"""Load against a live endpoint that speaks the OpenAI API, and what each request took."""
