// Unpack plotly.js, which stands in this page compressed, and draw each figure in its place.
(async () => {
  const held = (id) => document.getElementById(id).textContent;
  const packed = Uint8Array.from(atob(held("planner-plotly")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  const figures = JSON.parse(held("planner-figures"));
  for (const place of document.querySelectorAll("[data-figure]")) {
    const { data, layout } = figures[place.dataset.figure];
    Plotly.newPlot(place, data, layout, { responsive: true, displayModeBar: false });
  }
})().catch(() => {
  for (const place of document.querySelectorAll("[data-figure]")) {
    place.textContent = "This browser cannot draw the figure; its numbers stand in the tables.";
  }
});
