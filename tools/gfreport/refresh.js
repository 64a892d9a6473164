// Loads the page again when the runs have changed; gfreport --serve answers "state".
"use strict";
setInterval(async function () {
  try {
    const answer = await fetch("state", {cache: "no-store"});
    if (answer.ok && (await answer.text()) !== document.body.dataset.state) location.reload();
  } catch (error) {
    // gfreport has ended, or does not answer for a while.
  }
}, 3000);
