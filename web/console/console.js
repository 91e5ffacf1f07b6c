document.body.textContent = "Leasehold";
