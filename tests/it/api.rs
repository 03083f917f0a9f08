//! The JSON API and the overview page, over real sockets.

use crate::http::{get, with};
use crate::views::{self, cold, healthy, rich};

#[tokio::test]
async fn incidents_as_json() {
    let server = with([rich("prod"), healthy("dev")]).await;
    let open = get(&server, "/api/v1/incidents").await.json();
    assert_eq!(open["status"], "success");
    assert_eq!(open["data"]["total"], 4);
    let worst = &open["data"]["incidents"][0];
    assert_eq!(worst["cause"], "xid_79");
    assert_eq!(worst["severity"], "critical");
    assert_eq!(worst["evidence"], "strong");
    assert_eq!(worst["start"], views::at(-300).to_string());
    assert_eq!(worst["place"]["pod"], "");
    for part in [
        "facts",
        "supporting",
        "contradicting",
        "missing",
        "timeline",
        "checklist",
    ] {
        assert!(worst[part].is_array(), "{part}");
    }
    let blind = get(
        &server,
        "/api/v1/incidents?rule=GPU-THERM-006&severity=warning",
    )
    .await
    .json();
    let blind = &blind["data"]["incidents"][0];
    assert_eq!(
        (&blind["evidence"], &blind["undecided"]),
        (&"inconclusive".into(), &"blind".into())
    );

    for (query, total) in [
        ("state=all", 5),
        ("state=closed", 1),
        ("cluster=dev", 0),
        ("cause=xid_79", 1),
        ("namespace=ml", 1),
        ("node=n1", 3),
        ("since=2030-01-01T00:00:00Z", 0),
        ("since=0", 4),
    ] {
        let reply = get(&server, &format!("/api/v1/incidents?{query}"))
            .await
            .json();
        assert_eq!(reply["data"]["total"], total, "{query}");
    }
    let closed = get(&server, "/api/v1/incidents?state=closed").await.json();
    assert_eq!(closed["data"]["incidents"][0]["closed"]["how"], "resolved");
    let limited = get(&server, "/api/v1/incidents?limit=1").await.json();
    assert_eq!(
        limited["data"]["incidents"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(limited["data"]["total"], 4);

    let id = worst["id"].as_str().expect("an id");
    let one = get(&server, &format!("/api/v1/incidents/{id}"))
        .await
        .json();
    assert_eq!(&one["data"], worst);
}

#[tokio::test]
async fn bad_queries_are_refused_and_named() {
    let server = with([healthy("prod")]).await;
    for (target, error) in [
        (
            "/api/v1/incidents?rules=x",
            "unknown parameter `rules`; allowed: state, rule",
        ),
        (
            "/api/v1/incidents?severity=bad",
            "`severity` is `bad`; allowed: info, warning, critical",
        ),
        (
            "/api/v1/sources?x=1",
            "parameters are allowed on /api/v1/incidents only",
        ),
    ] {
        let reply = get(&server, target).await;
        assert_eq!(reply.status, 400, "{target}");
        let json = reply.json();
        assert_eq!(
            (&json["status"], &json["errorType"]),
            (&"error".into(), &"bad_data".into())
        );
        assert!(
            json["error"].as_str().expect("text").starts_with(error),
            "{json}"
        );
    }
    assert_eq!(get(&server, "/?severity=bad").await.status, 400);
}

#[tokio::test]
async fn sources_and_rules_as_json() {
    let server = with([rich("prod")]).await;
    let sources = get(&server, "/api/v1/sources").await.json();
    let cluster = &sources["data"]["clusters"][0];
    assert_eq!(cluster["sources"][0]["targets"][1]["state"], "down");
    let rules = get(&server, "/api/v1/rules").await.json();
    let rule = &rules["data"]["rules"][0];
    assert_eq!(rule["id"], "GPU-HEALTH-002");
    assert_eq!(rule["clusters"][0]["success"], true);
    assert!(rule["thresholds"].is_array() && rule["specification"].is_string());
}

#[tokio::test]
async fn pages_escape_and_allow_no_script() {
    let server = with([rich("prod")]).await;
    let page = get(&server, "/").await;
    assert_eq!(
        page.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    let policy = page.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'self'"));
    let text = page.text();
    assert!(!text.contains("<script") && !text.contains("style=\""));
    assert!(text.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;"));
    assert!(text.contains("1 of 2 GPUs is unknown") && text.contains("with a finding"));
    assert!(
        get(&server, "/style.css")
            .await
            .text()
            .contains("prefers-color-scheme")
    );
    let filtered = get(&server, "/?rule=GPU-HEALTH-002&namespace=none").await;
    assert!(
        filtered
            .text()
            .contains("No incident matches; 4 in all are open")
    );

    let calm = with([healthy("")]).await;
    let text = get(&calm, "/").await;
    assert!(
        text.text()
            .contains("No incident is open; 2 of 2 GPUs could be judged.")
    );
    assert!(text.text().contains("<b>2</b> live, nothing found</li>"));
    assert!(
        text.text()
            .contains("class=\"mark up\">up</span></td><th scope=\"row\">http://n1")
    );
    // A target that answers without a GPU is not shown as one that is well.
    let mut bare = healthy("");
    bare.sources[0].targets[0].empty_since = Some(bare.now);
    let bare = with([bare]).await;
    let text = get(&bare, "/").await;
    assert!(
        text.text()
            .contains("class=\"mark empty\">empty</span></td><th scope=\"row\">http://n1")
    );
    let starting = with([cold("")]).await;
    let text = get(&starting, "/").await;
    assert!(
        text.text()
            .contains("Starting: waiting for the first answer of dcgm")
    );
}
