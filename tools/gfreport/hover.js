// Shows the values under the pointer: of each curve, the point nearest to the pointer's column.
"use strict";
(function () {
  const box = document.createElement("div");
  box.id = "values";
  box.hidden = true;
  document.body.appendChild(box);

  function nearest(points, x) {
    let low = 0, high = points.length - 1;
    while (high - low > 1) {  // the points of a curve go from left to right
      const middle = (low + high) >> 1;
      if (points[middle][0] < x) low = middle; else high = middle;
    }
    return Math.abs(points[low][0] - x) <= Math.abs(points[high][0] - x) ? points[low]
                                                                        : points[high];
  }

  function line(color, words) {
    const row = document.createElement("div"), mark = document.createElement("i");
    mark.style.background = color;
    row.append(mark, words);
    return row;
  }

  for (const picture of document.querySelectorAll("svg[data-points]")) {
    const curves = JSON.parse(picture.dataset.points);
    const marks = curves.map(function (curve) {
      const mark = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      mark.setAttribute("r", 4);
      mark.setAttribute("fill", curve[1]);
      mark.setAttribute("visibility", "hidden");
      return picture.appendChild(mark);
    });
    function hide() {
      box.hidden = true;
      marks.forEach((mark) => mark.setAttribute("visibility", "hidden"));
    }
    picture.addEventListener("pointerleave", hide);
    picture.addEventListener("pointermove", function (event) {
      const at = new DOMPoint(event.clientX, event.clientY)
          .matrixTransform(picture.getScreenCTM().inverse());
      box.replaceChildren();
      curves.forEach(function ([name, color, points], i) {
        const [x, y, words] = nearest(points, at.x);
        marks[i].setAttribute("cx", x);
        marks[i].setAttribute("cy", y);
        marks[i].setAttribute("visibility", "visible");
        box.append(line(color, name + " \u2013 " + words));
      });
      box.hidden = false;
      const right = event.clientX > window.innerWidth / 2;
      box.style.left = right ? "" : event.clientX + 14 + "px";
      box.style.right = right ? window.innerWidth - event.clientX + 14 + "px" : "";
      box.style.top = event.clientY + 14 + "px";
    });
  }
})();
