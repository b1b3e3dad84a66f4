//! Objects that hold a list of runs, with a header for all of them.

use std::sync::Arc;

use super::{
    Error, Fault, Header, Json, ReadOptions, RecordReader, Result, Runs, Stop, Walk, Window, reader_at,
};
use crate::error::echo;
use crate::trace::TraceCollector;

/// The number of bytes to read ahead in search of a header after the runs, before opening the input a second time.
const NEAR: usize = 1 << 20;

/// The maximum number of bytes to read ahead if the input cannot be opened a second time.
const LOOK_AHEAD: usize = 8 << 20;

/// A member of the object that encloses the runs.
enum Member {
    /// The runs, whose value begins at this offset.
    Runs(usize),
    /// Any other member, which ends at this offset.
    Other(usize),
}

/// The invalid part of a member, and its fault.
enum MemberFault {
    Key(Fault),
    Value(Fault),
}

impl Walk<'_, '_, '_> {
    /// Reads an object that holds a list of runs.
    pub(super) fn holder(&mut self, window: &mut Window<'_>) -> Result<Stop> {
        let mut header = self.companion.cloned().unwrap_or_default();
        let place = window.place(0);
        window.consume(1);
        let (stop, listed) = self.members(window, &mut header, false)?;
        if self.header_only.is_some() {
            // The header as far as it could be read.
            self.header_only = Some(header);
        } else if stop == Stop::Done && listed == Some(false) && !self.may_hold_none {
            let what = format!("the object holds no `{}`", self.reader.list);
            self.runs.fail(Error::shape(what).at(place.location()));
        }
        Ok(stop)
    }

    /// Reads the members of an object that holds a list of runs: all, or with `listed` those after the list. Also
    /// returns whether there was a list, or `None` if the object could not be split into members to its end.
    fn members(
        &mut self,
        window: &mut Window<'_>,
        header: &mut Header,
        mut listed: bool,
    ) -> Result<(Stop, Option<bool>)> {
        let mut behind = listed;
        let mut after_comma = false;
        loop {
            let Some(byte) = Self::next_byte(window)? else {
                self.fail_at(window, Fault::end_at(0));
                return Ok((Stop::Lost, None));
            };
            match byte {
                b'}' if !after_comma => {
                    window.consume(1);
                    return Ok((Stop::Done, Some(listed)));
                }
                b',' if behind => {
                    window.consume(1);
                    (behind, after_comma) = (false, true);
                    continue;
                }
                b'"' if !behind => {}
                _ => {
                    let wanted = if behind { "expected `,` or `}`" } else { "expected a key" };
                    self.fail_at(window, Fault::syntax(0, wanted));
                    return Ok((Self::leave_object(window)?, None));
                }
            }
            match self.member(window, header, listed) {
                Ok(Member::Other(end)) => window.consume(end),
                Ok(Member::Runs(value)) => {
                    window.consume(value);
                    listed = true;
                    if self.held_runs(window, header)? == Stop::Lost {
                        return Ok((Stop::Lost, None));
                    }
                }
                Err(MemberFault::Key(fault) | MemberFault::Value(fault))
                    if fault.is_end() && window.grow()? =>
                {
                    continue;
                }
                Err(MemberFault::Value(fault)) => {
                    // Only this member is skipped: the rest of the object can be read.
                    if !self.pass_over_member(window, fault)? {
                        return Ok((Stop::Lost, None));
                    }
                }
                Err(MemberFault::Key(fault)) => {
                    let lost = fault.is_end();
                    self.fail_at(window, fault);
                    let stop = if lost { Stop::Lost } else { Self::leave_object(window)? };
                    return Ok((stop, None));
                }
            }
            (behind, after_comma) = (true, false);
        }
    }

    /// Reads a member of the object that encloses the runs, only up to its value if that is the list of runs.
    fn member(
        &self,
        window: &Window<'_>,
        header: &mut Header,
        listed: bool,
    ) -> std::result::Result<Member, MemberFault> {
        let mut json = reader_at(window.unread(), 0, 1);
        let key = json.key().map_err(MemberFault::Key)?;
        if *key == *self.reader.list.as_bytes() {
            if listed {
                let what = format!("a second `{}` in one object is not read", self.reader.list);
                return Err(MemberFault::Value(Fault::shape(json.offset(), what)));
            }
            return Ok(Member::Runs(json.offset()));
        }
        if self.reader.is_run_key(&key) {
            let what =
                format!("`{}` next to a list of runs is not read", echo(&String::from_utf8_lossy(&key)));
            return Err(MemberFault::Value(Fault::shape(json.offset(), what)));
        }
        let read = (self.reader.header)(&key, &mut json, self.runs, header);
        read.map(|()| Member::Other(json.offset())).map_err(MemberFault::Value)
    }

    /// Reads the list of runs in a member, or reports any other value.
    fn held_runs(&mut self, window: &mut Window<'_>, header: &mut Header) -> Result<Stop> {
        match self.runs_follow(window)? {
            Some(true) => {}
            Some(false) => return Ok(Stop::Done),
            None => return Ok(Stop::Lost),
        }
        if self.header_only.is_none() && !(self.reader.is_complete)(header) {
            self.look_ahead(window, header)?;
        }
        window.consume(1);
        self.read_list(window, &Arc::new(header.clone()))
    }

    /// Reports the fault of the member that begins here, and skips the member. Returns false if it has no
    /// end.
    fn pass_over_member(&mut self, window: &mut Window<'_>, fault: Fault) -> Result<bool> {
        self.fail_at(window, fault);
        skip_part(window, |json| {
            json.key().ok()?;
            json.skip_unsound()
        })
    }

    /// Skips the rest of an object that can no longer be split into members.
    fn leave_object(window: &mut Window<'_>) -> Result<Stop> {
        let is_left = skip_part(window, |json| {
            loop {
                json.skip_unsound()?;
                let byte = json.peek_byte()?;
                json.advance();
                if matches!(byte, b'}' | b']') {
                    return Some(());
                }
            }
        })?;
        Ok(if is_left { Stop::Done } else { Stop::Lost })
    }

    /// Returns true if a list comes next; its opening bracket is then the first unread byte. Anything else is
    /// reported and skipped; `None` if it has no end.
    fn runs_follow(&mut self, window: &mut Window<'_>) -> Result<Option<bool>> {
        if Self::next_byte(window)? == Some(b'[') {
            return Ok(Some(true));
        }
        loop {
            let mut json = reader_at(window.unread(), 0, 1);
            let fault = match json.list(|_| Ok(())) {
                Ok(()) => return Ok(Some(false)),
                Err(fault) if fault.is_end() && window.grow()? => continue,
                Err(fault) => fault,
            };
            let lost = fault.is_end();
            self.fail_at(window, fault);
            if lost {
                return Ok(None);
            }
            loop {
                let mut json = reader_at(window.unread(), 0, 1);
                let (passed, end) = (json.skip_unsound().is_some(), json.offset());
                if passed || !window.grow()? {
                    window.consume(end);
                    return Ok(Some(false));
                }
            }
        }
    }

    /// Reads the header after the list that begins here, before the runs are read. Sets `cut_off` if it is too far ahead.
    fn look_ahead(&mut self, window: &mut Window<'_>, header: &mut Header) -> Result<()> {
        let mut again = self.again;
        loop {
            let mut ahead = header.clone();
            let mut known = Window::over_slice(window.unread());
            let stop = read_behind(&mut known, self.reader, self.runs, &mut ahead)?;
            drop(known);
            if stop == Stop::Done || window.is_whole() {
                *header = ahead;
                return Ok(());
            }
            if window.unread().len() >= NEAR
                && let Some(rest) = again.take().and_then(|again| again(window.offset()))
            {
                let mut rest = Window::over_stream(rest, usize::MAX);
                rest.grow()?;
                read_behind(&mut rest, self.reader, self.runs, header)?;
                return Ok(());
            }
            if window.unread().len() >= LOOK_AHEAD {
                header.cut_off = true;
                return Ok(());
            }
            window.grow()?;
        }
    }
}

/// Skips a part of an object. `skip` gets a reader inside the object, as after its opening bracket. If the part has
/// no end, skips everything and returns false.
fn skip_part(window: &mut Window<'_>, skip: impl Fn(&mut Json<'_>) -> Option<()>) -> Result<bool> {
    loop {
        let mut json = reader_at(window.unread(), 0, 1);
        let end = skip(&mut json).map(|()| json.offset());
        if end.is_some() || !window.grow()? {
            window.consume(end.unwrap_or(usize::MAX));
            return Ok(end.is_some());
        }
    }
}

/// Skips the list of runs that begins here, and reads the header after it.
fn read_behind(
    window: &mut Window<'_>,
    reader: &'static RecordReader,
    of: &Runs<'_>,
    header: &mut Header,
) -> Result<Stop> {
    window.consume(1);
    let mut nowhere = TraceCollector::default();
    let mut runs = Runs::new(of.options, &mut nowhere);
    let mut walk = Walk::for_header(&mut runs, reader);
    match walk.read_list(window, &Arc::default())? {
        Stop::Done => walk.members(window, header, true).map(|(stop, _)| stop),
        lost => Ok(lost),
    }
}

/// Reads the header of an input; `None` if the input does not begin with an object or is too large.
pub(in crate::read) fn read_header(
    window: &mut Window<'_>,
    reader: &'static RecordReader,
    options: &ReadOptions,
) -> Option<Header> {
    let mut nowhere = TraceCollector::default();
    let mut runs = Runs::new(options, &mut nowhere);
    let mut walk = Walk::for_header(&mut runs, reader);
    window.grow().ok()?;
    window.skip_byte_order_mark();
    let _ = Walk::next_byte(window).ok()?.filter(|byte| *byte == b'{')?;
    walk.holder(window).ok()?;
    walk.header_only
}
