"""For people who ask through an agent: the front door as tools of the Model Context Protocol."""
