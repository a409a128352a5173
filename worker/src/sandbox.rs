//! The sandbox, if the Worker is built with it. Only this file checks the feature `sandbox`.

/// Whether the Worker has the sandbox. With `SANDBOX=open` it then needs no `UPSTREAM`.
pub(crate) const IS_INCLUDED: bool = cfg!(feature = "sandbox");

#[cfg(feature = "sandbox")]
pub(crate) use oncekey_sandbox::{operations, serve};

/// Replaces the sandbox. Nothing calls it, because the settings of such a Worker must name an origin.
#[cfg(not(feature = "sandbox"))]
mod absent {
    use oncekey::Rejection;
    use worker::{Env, Request, Response, Result};

    pub(crate) async fn serve(_: &Env, _: Request) -> Result<Response> {
        Err("this Worker was built without the sandbox".into())
    }

    pub(crate) async fn operations(
        _: &Env,
        _: &str,
        _: i64,
        _: usize,
    ) -> std::result::Result<String, Rejection> {
        Err(Rejection::NotFound)
    }
}

#[cfg(not(feature = "sandbox"))]
pub(crate) use absent::{operations, serve};
