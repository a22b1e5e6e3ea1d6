//! `windlass stdio`, request by request.

use super::script::stdio;

#[tokio::test]
async fn a_reply_repeats_the_reference_as_it_was() {
    stdio(
        r#"> {"op":"enqueue","ref":{"a":[1,null]},"queue":"q","id":"a","payload":"x"}
           < {"ref":{"a":[1,null]},"ok":true,"id":"a","queue":"q","state":"ready","duplicate":false}
           > {"op":"enqueue","queue":"q","id":"a","payload":"x"}
           < {"ref":null,"ok":true,"id":"a","duplicate":true}
           > {"ref":"e","op":"get","queue":"q","id":"none"}
           < {"ref":"e","ok":false,"error":{"code":"not_found","message":"…","help":"…","line":3}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_waiting_job_is_replaced_or_postponed() {
    stdio(
        r#"> {"op":"enqueue","queue":"q","id":"a","unique_key":"k","delay":"1m","payload":"1"}
           < {"ok":true,"id":"a","duplicate":false}
           > {"op":"enqueue","queue":"q","unique_key":"k","on_duplicate":"replace","payload":"2"}
           < {"ok":true,"id":"a","state":"scheduled","duplicate":false,"replaced":true}
           > {"op":"enqueue","queue":"q","unique_key":"k","on_duplicate":"postpone","delay":"2m"}
           < {"ok":true,"id":"a","duplicate":false,"postponed":true}
           > {"op":"get","queue":"q","id":"a"}
           < {"ok":true,"payload":"2"}
           > {"op":"enqueue","queue":"q","unique_key":"k","on_duplicate":"overwrite"}
           < {"ok":false,"error":{"code":"invalid","message":"…","help":"…","line":5}}
           > {"op":"enqueue","queue":"q","unique_for":"1h"}
           < {"ok":false,"error":{"code":"invalid","message":"…","help":"…","line":6}}
           > {"op":"put_schedule","queue":"q","name":"n","every":"1m","job":{"on_duplicate":"replace"}}
           < {"ok":false,"error":{"code":"invalid","message":"…","help":"…","line":7}}"#,
    )
    .await;
}

#[tokio::test]
async fn lists_have_a_name() {
    stdio(
        r#"> {"op":"enqueue","queue":"q","id":"a"}
           < {"ok":true}
           > {"op":"claim","ref":1,"queue":"q"}
           < {"ref":1,"ok":true,"jobs":[{"id":"a","token":"…"}]}
           > {"op":"claim","queue":"q"}
           < {"ok":true,"jobs":[]}
           > {"op":"queues"}
           < {"ok":true,"queues":[{"queue":"q","running":1}]}
           > {"op":"register","worker":"w","queues":["q"]}
           < {"ok":true,"worker":"w"}
           > {"op":"workers"}
           < {"ok":true,"workers":[{"id":"w"}]}
           > {"op":"complete","queue":"q","id":"a","token":"…"}
           < {"ok":true,"outcome":"completed"}"#,
    )
    .await;
}

#[tokio::test]
async fn each_request_sees_what_the_one_before_it_did() {
    // All are sent before any reply is read.
    stdio(
        r#"> {"op":"enqueue","ref":1,"queue":"q","id":"a"}
           > {"op":"enqueue","ref":2,"queue":"q","id":"b"}
           > {"op":"claim","ref":3,"queue":"q"}
           > {"op":"stats","ref":4,"queue":"q"}
           > {"op":"purge","ref":5,"queue":"q"}
           > {"op":"enqueue","ref":6,"queue":"q","id":"c"}
           > {"op":"get","ref":7,"queue":"q","id":"c"}
           < {"ref":1,"ok":true}
           < {"ref":2,"ok":true}
           < {"ref":3,"ok":true,"jobs":[{"id":"a"}]}
           < {"ref":4,"ok":true,"ready":1,"running":1}
           < {"ref":5,"ok":true,"purged":1}
           < {"ref":6,"ok":true}
           < {"ref":7,"ok":true,"id":"c","state":"ready"}"#,
    )
    .await;
}

#[tokio::test]
async fn bad_lines_are_answered_with_their_number_and_the_stream_continues() {
    stdio(
        r#"> nonsense
           < {"ref":null,"ok":false,"error":{"code":"invalid","line":1}}
           > ["op","queues"]
           < {"ref":null,"ok":false,"error":{"code":"invalid","line":2}}
           > {"op":"queues","op":"queues"}
           < {"ref":null,"ok":false,"error":{"code":"invalid","line":3}}
           > {"ref":4}
           < {"ref":4,"ok":false,"error":{"code":"invalid","line":4}}
           > {"ref":5,"op":7}
           < {"ref":5,"ok":false,"error":{"code":"invalid","line":5}}
           > {"ref":6,"op":"dance"}
           < {"ref":6,"ok":false,"error":{"code":"invalid","line":6}}
           > {"ref":7,"op":"claim","queue":"q","wait":5}
           < {"ref":7,"ok":false,"error":{"code":"invalid","line":7}}
           > {"ref":8,"op":"claim","queue":"q","wait":"soon"}
           < {"ref":8,"ok":false,"error":{"code":"invalid","line":8}}
           > {"ref":9,"op":"queues"}
           < {"ref":9,"ok":true,"queues":[]}"#,
    )
    .await;
}

#[tokio::test]
async fn batched_jobs_do_not_share_their_errors_or_their_queues() {
    let large = "x".repeat(1024 * 1024 + 1);
    stdio(&format!(
        r#"> {{"op":"enqueue","ref":1,"queue":"q","id":"a"}}
           > {{"op":"enqueue","ref":2,"queue":"q","id":"b"}}
           > {{"op":"enqueue","ref":3,"queue":"q","id":"large","payload":"{large}"}}
           > {{"op":"enqueue","ref":4,"queue":"q","id":"c","priority":77}}
           > {{"op":"enqueue","ref":5,"queue":"q","id":"a"}}
           > {{"op":"enqueue","ref":6,"queue":"other","id":"d"}}
           > {{"op":"enqueue","ref":7,"queue":"q","id":"e"}}
           > {{"op":"queues","ref":8}}
           < {{"ref":1,"ok":true,"id":"a","queue":"q","duplicate":false}}
           < {{"ref":2,"ok":true,"id":"b","queue":"q"}}
           < {{"ref":3,"ok":false,"error":{{"code":"invalid","line":3}}}}
           < {{"ref":4,"ok":false,"error":{{"code":"invalid","line":4}}}}
           < {{"ref":5,"ok":true,"id":"a","duplicate":true}}
           < {{"ref":6,"ok":true,"id":"d","queue":"other"}}
           < {{"ref":7,"ok":true,"id":"e","queue":"q"}}
           < {{"ref":8,"ok":true,"queues":[{{"queue":"other","ready":1}},{{"queue":"q","ready":3}}]}}"#
    ))
    .await;
}
