#include "comm/ranks/mpi/control/control_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

TEST(ControlSocketTest, IsBoundToTheAddressThatItNames) {
  for (const bool loopback_only : {true, false}) {
    absl::StatusOr<ControlSocket> opened = ControlSocket::Open(loopback_only);
    ASSERT_TRUE(opened.ok()) << opened.status();
    const int descriptor = opened->descriptor();
    {
      const ControlSocket socket = *std::move(opened);
      opened = absl::CancelledError("its own is gone");
      sockaddr_in bound = {};
      socklen_t length = sizeof(bound);
      ASSERT_EQ(getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&bound), &length), 0);
      EXPECT_EQ(ntohl(bound.sin_addr.s_addr), loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
      EXPECT_EQ(bound.sin_port, socket.address().port);
      EXPECT_TRUE(!loopback_only || socket.address().hosts[0] == LoopbackHost());
    }
    EXPECT_EQ(fcntl(descriptor, F_GETFD), -1) << "closed with its owner";
  }
}

TEST(ControlSocketTest, ARankThatOthersCannotReachIsNamed) {
  const absl::StatusOr<ControlSocket> socket = ControlSocket::Open(/*loopback_only=*/true);
  ASSERT_TRUE(socket.ok()) << socket.status();
  std::vector<ControlAddress> ranks(3, socket->address());
  EXPECT_EQ(CheckAddresses(ranks), absl::OkStatus());
  ranks[2].hosts = {};
  absl::Status status = CheckAddresses(ranks);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("the host of rank 2 has no IPv4 address"), std::string::npos)
      << status;
  ranks[1] = ControlAddress();
  status = CheckAddresses(ranks);
  EXPECT_NE(status.message().find("rank 1 has no socket"), std::string::npos) << status;
}

// So that all ranks hear of it (comm/ranks/mpi/mpi_world.cc), and none has a thread that never
// wakes.
TEST(ControlSocketTest, WithoutADescriptorToWakeItsThreadThereIsNone) {
  for (const bool one : {false, true}) {
    std::optional<testing::NoNewDescriptors> none(one);
    const absl::Status status = ControlSocket::Open(/*loopback_only=*/true).status();
    none.reset();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_NE(status.message().find("Too many open files"), std::string::npos) << status;
    EXPECT_NE(status.message().find(one ? "to wake a thread" : "the ranks' socket"),
              std::string::npos)
        << status;
  }
}

}  // namespace
}  // namespace dtnn
