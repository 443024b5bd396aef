//! The files that pages need. They are part of the program, so that pages work offline.

/// A file that pages load.
pub(super) struct Asset {
    pub name: &'static str,
    pub kind: &'static str,
    pub bytes: &'static [u8],
}

pub(super) const ASSETS: [Asset; 3] = [
    Asset {
        name: "board.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("assets/board.css"),
    },
    Asset {
        name: "board.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("assets/board.js"),
    },
    Asset { name: "icon.svg", kind: "image/svg+xml", bytes: include_bytes!("assets/icon.svg") },
];

/// Returns the file of that name.
pub(super) fn asset(name: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.name == name)
}
