//! Work handed out: claims, assignments, the scheduled sweep; and work that lands.

pub(crate) mod claim;
pub(crate) mod hand_out;
pub(crate) mod landing;
pub(crate) mod next;
pub(crate) mod sweep;
pub(crate) mod synced_assignment;
pub(crate) mod wait_for_work;
pub(crate) mod workplaces;
pub(crate) mod workspaces;
