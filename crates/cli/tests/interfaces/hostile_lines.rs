//! Lines that no door wants to see, one sort after the other.

/// How many sorts there are.
const SORTS: usize = 14;

/// One hostile line, without its end; `verb` is an object that would be good, up to its last brace.
pub(crate) fn line(at: usize, verb: &str) -> Vec<u8> {
    let good = format!("{verb}}}");
    match at % SORTS {
        0 => good.as_bytes()[..good.len() - 1 - at % 7].to_vec(),
        1 => nested("[", at),
        2 => nested("{\"a\":", at),
        3 => format!("{verb},\"deep\":{}1{}}}", "[".repeat(200), "]".repeat(200)).into_bytes(),
        4 => format!("{verb},\"x\":\"\0\"}}").into_bytes(),
        5 => vec![0; 1 + at % 50],
        6 => format!("{verb},{}", &good[1..]).into_bytes(),
        7 => [good.as_bytes(), b"\xff\xfe"].concat(),
        8 => b"7".to_vec(),
        9 => b"[\"op\",\"queues\"]".to_vec(),
        10 => b"{\"op\":{\"a\":1},\"topic\":[],\"queue\":5}".to_vec(),
        11 => format!("{good}{good}").into_bytes(),
        12 => b"{\"op\":\"enqueue\",\"queue\":\"a b\",\"topic\":\"add_job\",\"payload\":{\"uuid\":\"x\",\"queue_name\":\"a b\"}}".to_vec(),
        _ if (at / SORTS).is_multiple_of(35) => vec![b'x'; 3 * 1024 * 1024],
        _ => "{\"\u{202e}\":\"\\ud800\",".as_bytes().to_vec(),
    }
}

fn nested(opening: &str, at: usize) -> Vec<u8> {
    opening.repeat(200 + at).into_bytes()
}
