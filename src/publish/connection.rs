//! A client's socket with deadlines: a header must come, and an answer must be taken, in time.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::registry::{Activity, Phase};

/// A socket that fails when its client is too slow.
pub(super) struct Guarded<S> {
    inner: S,
    activity: Arc<Activity>,
    header_timeout: Duration,
    write_timeout: Duration,
    /// Runs from a header's first byte, or the connection's start, to the header's end.
    header: Option<Pin<Box<Sleep>>>,
    /// Runs from the first time the client does not take bytes until it has taken all.
    write: Option<Pin<Box<Sleep>>>,
    /// Bytes of a next request came while one was being answered.
    ahead: bool,
}

impl<S> Guarded<S> {
    /// Guards a socket. Must be called inside a runtime.
    pub(super) fn new(
        inner: S,
        activity: Arc<Activity>,
        header_timeout: Duration,
        write_timeout: Duration,
    ) -> Self {
        Self {
            inner,
            activity,
            header_timeout,
            write_timeout,
            header: Some(Box::pin(sleep(header_timeout))),
            write: None,
            ahead: false,
        }
    }

    fn after_read(&mut self, taken: bool) {
        if self.activity.phase() != Phase::Waiting {
            self.header = None;
            self.ahead |= taken;
        } else if taken && self.header.is_none() {
            self.header = Some(Box::pin(sleep(self.header_timeout)));
        }
    }

    fn after_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_pending() {
            let timeout = self.write_timeout;
            let timer = self.write.get_or_insert_with(|| Box::pin(sleep(timeout)));
            ready!(timer.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        written
    }

    /// Everything written so far is on its way to the client.
    fn flushed(&mut self) {
        self.write = None;
        if self.activity.phase() == Phase::Answered {
            self.activity.enter(Phase::Waiting);
            let ahead = std::mem::take(&mut self.ahead);
            self.header = ahead.then(|| Box::pin(sleep(self.header_timeout)));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.after_read(buf.filled().len() > before);
        if read.is_pending()
            && let Some(timer) = &mut self.header
        {
            ready!(timer.as_mut().poll(cx));
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.after_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.after_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        ready!(self.after_write(cx, flushed))?;
        self.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.after_write(cx, closed)
    }
}
