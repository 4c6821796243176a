#include "comm/ranks/mpi/control/control_socket.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

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

}  // namespace
}  // namespace dtnn
