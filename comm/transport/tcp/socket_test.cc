#include "comm/transport/tcp/socket.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/transport/tcp/plain_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(SocketTest, OnlyAddressesOfThisHostAloneAreLoopback) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "localhost"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"", "127.example.org", "127.0.0.1.example.org", "127.", "10.0.0.7",
                           "128.0.0.1", "::2", "::ffff:10.0.0.7", "localhost.example.org"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

// The port of a listener, at another address of this host.
absl::Status TryToReach(const Socket& listener, const std::string& host) {
  const Endpoint endpoint = {.host = host, .port = Must(listener.Local()).port};
  const Socket socket = Must(StartConnecting(Must(Resolve(endpoint)).front()));
  pollfd descriptor = {socket.descriptor(), POLLOUT, 0};
  poll(&descriptor, 1, -1);
  return ConnectingError(socket);
}

// Whatever this host believes that its name means.
TEST(SocketTest, WhoListensByNameIsReachedAtEveryAddress) {
  for (const char* name : {"rank-zero.example", ""}) {
    const Socket listener = Must(Listen({.host = name, .port = 0}));
    EXPECT_THAT(Must(listener.Local()).host, AnyOf("::", "0.0.0.0"));
    EXPECT_EQ(absl::OkStatus(), TryToReach(listener, "127.0.0.1"));
    EXPECT_EQ(absl::OkStatus(), TryToReach(listener, "127.0.1.1"));
    const std::optional<Socket> accepted = Must(Accept(listener));
    ASSERT_TRUE(accepted.has_value());
    EXPECT_EQ(Must(accepted->Peer()).host, "127.0.0.1");
  }
}

TEST(SocketTest, WhoListensAtAnAddressIsReachedThereOnly) {
  const Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  EXPECT_EQ(absl::OkStatus(), TryToReach(listener, "127.0.0.1"));
  EXPECT_THAT(std::string(TryToReach(listener, "127.0.1.1").message()),
              HasSubstr("Connection refused"));
}

// The address of a link's interface says which interface that is.
TEST(SocketTest, AddressesOfLinksAreAddresses) {
  const absl::StatusOr<Socket> listener = Listen({.host = "fe80::1234%lo", .port = 0});
  EXPECT_FALSE(listener.ok()) << "lo has no such address; at all addresses: "
                              << Must(listener->Local()).host;
}

TEST(SocketTest, EndpointsAreReadAsTheyAreWritten) {
  for (const Endpoint& endpoint :
       {Endpoint{"node1", 61642}, Endpoint{"10.0.0.7", 1}, Endpoint{"::1", 65535}}) {
    EXPECT_EQ(Must(ParseEndpoint(endpoint.ToString())), endpoint);
  }
  for (const char* wrong :
       {"", "node1", "node1:", ":61642", "node1:0", "node1:65536", "node1:-1", "node1:+1",
        "node1: 1", "node1:1x", "::1", "[]:1", "fe80::1:61642", "node1:99999999999999999999"}) {
    EXPECT_EQ(ParseEndpoint(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

TEST(SocketTest, ShortBuffersDoNotGrow) {
  const Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const std::unique_ptr<Stream> stream =
      PlainStream(Must(StartConnecting(Must(Resolve(Must(listener.Local()))).front())));
  stream->KeepBuffersShort();
  for (const int buffer : {SO_RCVBUF, SO_SNDBUF}) {
    int bytes = 0;
    socklen_t size = sizeof(bytes);
    ASSERT_EQ(getsockopt(stream->descriptor(), SOL_SOCKET, buffer, &bytes, &size), 0);
    EXPECT_EQ(bytes, 256 << 10) << "twice what was asked for, as Linux has it";
  }
}

// An other end that does not read.
TEST(SocketTest, LittleWaitsToBeSent) {
  const Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const std::unique_ptr<Stream> stream =
      PlainStream(Must(StartConnecting(Must(Resolve(Must(listener.Local()))).front())));
  const std::optional<Socket> accepted = Must(Accept(listener));
  ASSERT_TRUE(accepted.has_value());
  stream->KeepUnsentShort();
  const std::vector<std::byte> megabyte(1 << 20);
  const std::span<const std::byte> ranges[] = {megabyte};
  for (int i = 0; i < 100 && Must(stream->Write(ranges)) > 0; ++i) continue;
  int unsent = 0;
  ASSERT_EQ(ioctl(stream->descriptor(), SIOCOUTQNSD, &unsent), 0);
  EXPECT_GT(unsent, 0) << "the other end has room for all of it";
  EXPECT_LE(unsent, 256 << 10);
}

TEST(SocketTest, APeerWhoseHostIsGoneIsNoticed) {
  const Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Socket calls = Must(StartConnecting(Must(Resolve(Must(listener.Local()))).front()));
  const std::optional<Socket> accepted = Must(Accept(listener));
  ASSERT_TRUE(accepted.has_value());
  for (const int descriptor : {calls.descriptor(), accepted->descriptor()}) {
    const auto option = [&](int level, int name) {
      int value = -1;
      socklen_t size = sizeof(value);
      EXPECT_EQ(getsockopt(descriptor, level, name, &value, &size), 0);
      return value;
    };
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), kKeepAliveIdleSeconds);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), kKeepAlivePauseSeconds);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), kKeepAliveProbes);
  }
}

TEST(SocketTest, ErrorsSayWhatAndWhere) {
  const Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint taken = Must(listener.Local());
  const absl::Status status = Listen(taken).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot listen at " + taken.ToString() + ": Address already in use"));
  EXPECT_THAT(std::string(Resolve({.host = "no host\n", .port = 1}).status().message()),
              HasSubstr("is not known here"));
}

}  // namespace
}  // namespace dtnn
