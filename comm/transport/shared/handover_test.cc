#include "comm/transport/shared/handover.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tensor/text/str_cat.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

// Another process of the host: it knows the inbox's name, and says what a test wants.
void Send(const Invitation& to, std::string_view bytes, std::span<const int> descriptors) {
  const Descriptor from(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string name = StrCat("dtnn ", absl::Hex(to.name[0]), " ", absl::Hex(to.name[1]));
  name.copy(address.sun_path + 1, name.size());
  iovec range = {const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<std::byte, 256> control = {};
  msghdr message = {};
  message.msg_name = &address;
  message.msg_namelen = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  message.msg_iov = &range;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  ASSERT_EQ(sendmsg(from.descriptor(), &message, MSG_DONTWAIT), ssize_t(bytes.size()));
}

std::string TokenOf(const Invitation& invitation) {
  return {reinterpret_cast<const char*>(&invitation.token), sizeof(invitation.token)};
}

TEST(HandoverTest, BothGetTheEndsOfOneStream) {
  Inbox inbox = Must(Inbox::Create());
  EXPECT_FALSE(inbox.invitation().empty());
  EXPECT_TRUE(Invitation().empty());
  SharedEnd made = Must(HandOver(inbox.invitation()));
  SharedEnd taken = Must(inbox.Take());
  EXPECT_TRUE(made.created);
  EXPECT_FALSE(taken.created);
  const auto one = SharedStream(std::move(made), std::vector<uint8_t>());
  const auto two = SharedStream(std::move(taken), std::vector<uint8_t>());
  std::string text = "there", back = "back!", got(5, ' ');
  const auto pass = [&](Stream& from, const std::string& bytes, Stream& to) {
    const std::span<const std::byte> range = std::as_bytes(std::span(bytes));
    EXPECT_EQ(Must(from.Write({&range, 1})), 5);
    EXPECT_EQ(Must(to.Read(std::as_writable_bytes(std::span(got)))), 5);
    EXPECT_EQ(got, bytes);
  };
  pass(*one, text, *two);
  pass(*two, back, *one);
}

TEST(HandoverTest, WhereNothingHasComeNothingIsWaitedFor) {
  Inbox inbox = Must(Inbox::Create());
  EXPECT_EQ(inbox.Take().status().code(), absl::StatusCode::kUnavailable);
}

TEST(HandoverTest, MessagesWithoutTheTokenAreThrownAway) {
  Inbox inbox = Must(Inbox::Create());
  const std::string token = TokenOf(inbox.invitation());
  std::string wrong = token;
  wrong.back() = char(wrong.back() + 1);
  Descriptor file;
  const SharedMemory foreign = Must(SharedMemory::Create(file));
  const std::vector<int> descriptors(20, file.descriptor());
  const int64_t before = testing::OpenDescriptors();
  Send(inbox.invitation(), wrong, std::span(descriptors).first(2));
  Send(inbox.invitation(), token.substr(1), descriptors);
  for (int i = 0; i < 1000; ++i) Send(inbox.invitation(), "", {});
  EXPECT_EQ(inbox.Take().status().code(), absl::StatusCode::kUnavailable) << "nothing is there";
  const SharedEnd made = Must(HandOver(inbox.invitation()));
  const SharedEnd taken = Must(inbox.Take());
  made.memory.ring(0).front() = std::byte(7);
  EXPECT_EQ(taken.memory.ring(0).front(), std::byte(7));
  EXPECT_EQ(testing::OpenDescriptors(), before + 2) << "both ends of the bell";
}

TEST(HandoverTest, WhatRanksDoNotShareIsRefused) {
  Inbox inbox = Must(Inbox::Create());
  const std::string token = TokenOf(inbox.invitation());
  Descriptor file, small;
  const SharedMemory right = Must(SharedMemory::Create(file));
  const SharedMemory wrong = Must(SharedMemory::Create(small, kRingBytes / 2));
  const Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const int64_t before = testing::OpenDescriptors();
  const auto error = [&](std::vector<int> descriptors) {
    Send(inbox.invitation(), token, descriptors);
    const absl::Status status = inbox.Take().status();
    EXPECT_EQ(testing::OpenDescriptors(), before);
    return status.code();
  };
  EXPECT_EQ(error({}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error({file.descriptor()}), absl::StatusCode::kInvalidArgument) << "no bell";
  EXPECT_EQ(error({small.descriptor(), null.descriptor()}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(error({null.descriptor(), null.descriptor()}), absl::StatusCode::kInvalidArgument);
}

TEST(HandoverTest, AnInboxThatIsFullIsAnError) {
  Inbox inbox = Must(Inbox::Create());
  absl::Status status;
  for (int i = 0; i < 10000 && status.ok(); ++i) status = HandOver(inbox.invitation()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot send shared memory"));
  EXPECT_TRUE(inbox.Take().ok());
}

// As on a host that only looks the same.
TEST(HandoverTest, WhereThereIsNoInboxNothingIsLeft) {
  std::optional<Inbox> inbox = Must(Inbox::Create());
  const Invitation gone = inbox->invitation();
  inbox.reset();
  const int64_t before = testing::OpenDescriptors();
  EXPECT_EQ(HandOver(gone).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(testing::OpenDescriptors(), before);
}

TEST(HandoverTest, AKilledProcessLeavesNoName) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  const Descriptor from(ends[0]), to(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    const Inbox inbox = Must(Inbox::Create());
    const bool told = write(to.descriptor(), &inbox.invitation(), sizeof(Invitation)) > 0;
    kill(getpid(), told ? SIGKILL : SIGTERM);
    _exit(1);
  }
  Invitation invitation;
  ASSERT_EQ(read(from.descriptor(), &invitation, sizeof(invitation)), ssize_t(sizeof(invitation)));
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  EXPECT_EQ(HandOver(invitation).status().code(), absl::StatusCode::kUnavailable);
}

TEST(HandoverTest, WithoutDescriptorsItIsAnError) {
  Inbox inbox = Must(Inbox::Create());
  for (const bool one : {true, false}) {
    const SharedEnd made = Must(HandOver(inbox.invitation()));
    const testing::NoNewDescriptors none(one);
    EXPECT_EQ(inbox.Take().status().code(), absl::StatusCode::kResourceExhausted);
  }
  const testing::NoNewDescriptors none;
  EXPECT_EQ(Inbox::Create().status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(HandOver(inbox.invitation()).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace dtnn
