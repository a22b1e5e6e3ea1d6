//! Hostile input lines of several kinds.

/// The number of kinds.
const KINDS: usize = 14;

/// Returns a hostile line without its line break; `valid` is a valid request without its last brace.
pub(crate) fn line(at: usize, valid: &str) -> Vec<u8> {
    let request = format!("{valid}}}");
    match at % KINDS {
        0 => request.as_bytes()[..request.len() - 1 - at % 7].to_vec(),
        1 => nested("[", at),
        2 => nested("{\"a\":", at),
        3 => format!("{valid},\"deep\":{}1{}}}", "[".repeat(200), "]".repeat(200)).into_bytes(),
        4 => format!("{valid},\"x\":\"\0\"}}").into_bytes(),
        5 => vec![0; 1 + at % 50],
        6 => format!("{valid},{}", &request[1..]).into_bytes(),
        7 => [request.as_bytes(), b"\xff\xfe"].concat(),
        8 => b"7".to_vec(),
        9 => b"[\"op\",\"queues\"]".to_vec(),
        10 => b"{\"op\":{\"a\":1},\"topic\":[],\"queue\":5}".to_vec(),
        11 => format!("{request}{request}").into_bytes(),
        12 => b"{\"op\":\"enqueue\",\"queue\":\"a b\",\"topic\":\"add_job\",\"payload\":{\"uuid\":\"x\",\"queue_name\":\"a b\"}}".to_vec(),
        _ if (at / KINDS).is_multiple_of(35) => vec![b'x'; 3 * 1024 * 1024],
        _ => "{\"\u{202e}\":\"\\ud800\",".as_bytes().to_vec(),
    }
}

fn nested(opening: &str, at: usize) -> Vec<u8> {
    opening.repeat(200 + at).into_bytes()
}
