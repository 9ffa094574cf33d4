// Paper is white: a page that is read on black is printed as the light one.
"use strict";
(() => {
  let before;
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    document.documentElement.dataset.theme = before;
  });
})();
