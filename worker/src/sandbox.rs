//! The sandbox, if the Worker is built with it. Only this file and `admin/mod.rs` check the feature `sandbox`.

/// Whether the Worker has the sandbox. With `SANDBOX=open` it then needs no `UPSTREAM`.
pub(crate) const IS_INCLUDED: bool = cfg!(feature = "sandbox");

#[cfg(feature = "sandbox")]
mod included {
    use oncekey::Rejection;
    use platform::task;
    use wasm_bindgen::{JsCast, JsValue, prelude::wasm_bindgen};
    use worker::web_sys::{Request, Response};
    use worker::{Env, wasm_bindgen_futures};

    /// Returns a page of a merchant's payments and refunds, a line each.
    pub(crate) async fn operations(
        env: JsValue,
        merchant: &str,
        after: i64,
        limit: usize,
    ) -> Result<String, Rejection> {
        oncekey_sandbox::operations(&env.unchecked_into(), merchant, after, limit).await
    }

    /// Responds to a request to the sandbox, as an origin does. `worker/bridge.mjs` calls it in place of `fetch`.
    #[wasm_bindgen(js_name = oncekeySandbox)]
    #[expect(unreachable_pub, reason = "only JavaScript calls it")]
    pub async fn fetch(request: Request, env: Env) -> worker::Result<Response> {
        let work = async move { oncekey_sandbox::serve(&env, request.into()).await };
        let lost = |task::Panicked| worker::Error::from("the sandbox panicked");
        Ok(task::contain(work).await.map_err(lost)??.into())
    }
}

#[cfg(feature = "sandbox")]
pub(crate) use included::operations;
