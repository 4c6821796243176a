// One that serves, callers that are threads, and a third party in memory.

#include "comm/transport/relay/relay_door.h"

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/transport/relay/packet.h"
#include "comm/transport/relay/relay_link.h"
#include "comm/transport/relay/testing/post.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using testing::Office;
using testing::Post;
using ::testing::StartsWith;

JobSecret Known(char letter = 's') { return Must(JobSecret::Of(std::string(40, letter))); }

CommunicatorOptions Patient(std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  CommunicatorOptions options;
  options.timeout = timeout;
  return options;
}

std::unique_ptr<RelayDoor> Serve(Office& office) {
  return Must(RelayDoor::Open(std::make_unique<Post>(office), Known(), Patient()));
}

// Until so many have come.
std::vector<Caller> Await(RelayDoor& door, size_t count) {
  std::vector<Caller> all;
  while (all.size() < count) {
    std::vector<pollfd> descriptors;
    door.AddTo(descriptors);
    poll(descriptors.data(), descriptors.size(), 1000);
    for (Caller& caller : Must(door.Advance(descriptors, RelayDoor::Clock::now()))) {
      all.push_back(std::move(caller));
    }
  }
  return all;
}

void Write(Stream& stream, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const std::span<const std::byte> rest = std::as_bytes(std::span(text).subspan(at));
    at += Must(stream.Write({&rest, 1}));
  }
}

// So much of what comes.
std::string Read(Stream& stream, size_t bytes) {
  std::string text(bytes, ' ');
  for (size_t at = 0; at < bytes;) {
    const size_t n = Must(stream.Read(std::as_writable_bytes(std::span(text).subspan(at))));
    at += n;
    pollfd descriptor = {stream.descriptor(), POLLIN, 0};
    if (n == 0) poll(&descriptor, 1, 1000);
  }
  return text;
}

absl::Status EndOf(Stream& stream) {
  while (true) {
    std::byte byte;
    const absl::StatusOr<size_t> n = stream.Read({&byte, 1});
    if (!n.ok()) return n.status();
    pollfd descriptor = {stream.descriptor(), POLLIN, 0};
    poll(&descriptor, 1, 1000);
  }
}

TEST(RelayDoorTest, AsManyAsComeHaveStreamsOfTheirOwn) {
  Office office;
  const auto door = Serve(office);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 9; ++caller) {
    callers.emplace_back([&, caller] {
      const auto stream = Must(CallThrough(std::make_unique<Post>(office), Known(), Patient()));
      const std::string own(300'000 + size_t(caller), char('a' + caller));
      std::thread writer([&] { Write(*stream, own); });
      EXPECT_EQ(Read(*stream, 3), "for");
      writer.join();
      EXPECT_TRUE(absl::IsOutOfRange(EndOf(*stream)));
    });
  }
  std::vector<Caller> links = Await(*door, 9);
  std::string letters;
  for (Caller& link : links) {
    const std::string first = Read(*link.stream, 1);
    const size_t rest = 300'000 + size_t(first[0] - 'a') - 1;
    EXPECT_EQ(Read(*link.stream, rest), std::string(rest, first[0]));
    letters += first;
    Write(*link.stream, "for");
  }
  links.clear();  // their ends see it
  for (std::thread& caller : callers) caller.join();
  std::ranges::sort(letters);
  EXPECT_EQ(letters, "abcdefghi");
}

TEST(RelayDoorTest, WhoLeavesIsMissedAndOneWhoComesAgainIsAnother) {
  Office office;
  const auto door = Serve(office);
  for (int time = 0; time < 3; ++time) {
    std::thread caller(
        [&] { Must(CallThrough(std::make_unique<Post>(office), Known(), Patient())); });
    std::vector<Caller> links = Await(*door, 1);
    caller.join();
    EXPECT_TRUE(absl::IsOutOfRange(EndOf(*links[0].stream)));
  }
}

TEST(RelayDoorTest, ACallerWithoutTheSecretIsRefusedAndWaitsInVain) {
  Office office;
  const auto door = Serve(office);
  const absl::Status status =
      CallThrough(std::make_unique<Post>(office), Known('x'), Patient(std::chrono::seconds(1)))
          .status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot open what this rank sends"));
  EXPECT_TRUE(Must(door->Advance({}, RelayDoor::Clock::now())).empty());
  EXPECT_THAT(door->refused(), HasSubstr("does not know this job's secret"));
}

// Recorded calls are genuine, but nobody continues them: they have no more than their places.
TEST(RelayDoorTest, CallsThatNobodyGoesOnFromMakeRoom) {
  Office office;
  const auto door = Serve(office);
  Post post(office);
  const Instance me = {.rank = 1 << 20, .number = 1};
  Must(post.Open(me, {.received = [](std::string_view) {}, .left = [](const Instance&) {}},
                 Patient()));
  const JobSecret secret = Known();
  for (int number = 1; number <= 1000; ++number) {
    RelayLink link(
        {.peer = 0,
         .size = kRanksOfDoor,
         .card = {.instance = {.rank = number, .number = 7}, .network_space = 0},
         .window = 1 << 20},
        secret, [&](std::string bytes) { post.Send(0, std::move(bytes)); }, [] {});
    link.Call();
  }
  std::thread caller([&] {
    const auto stream = Must(CallThrough(std::make_unique<Post>(office), Known(), Patient()));
    EXPECT_EQ(Read(*stream, 2), "hi");
  });
  std::vector<Caller> links = Await(*door, 1);
  Write(*links[0].stream, "hi");
  caller.join();
  EXPECT_TRUE(Must(door->Advance({}, RelayDoor::Clock::now())).empty());
  EXPECT_LT(door->next() - std::chrono::steady_clock::now(), std::chrono::seconds(11));
}

TEST(RelayDoorTest, WithoutADescriptorThereIsNoDoor) {
  Office office;
  std::optional<testing::NoNewDescriptors> none(std::in_place);
  const absl::Status status =
      RelayDoor::Open(std::make_unique<Post>(office), Known(), Patient()).status();
  none.reset();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("Too many open files"));
}

// It calls again, and has a stream as soon as there is a descriptor for it.
TEST(RelayDoorTest, ACallerForWhomThereIsNoDescriptorIsRefusedByName) {
  Office office;
  const auto door = Serve(office);
  Post post(office);
  Must(post.Open({.rank = 7, .number = 1},
                 {.received = [](std::string_view) {}, .left = [](const Instance&) {}}, Patient()));
  const JobSecret secret = Known();
  RelayLink link(
      {.peer = 0,
       .size = kRanksOfDoor,
       .card = {.instance = {.rank = 7, .number = 1}, .network_space = 0},
       .window = 1 << 20},
      secret, [&](std::string bytes) { post.Send(0, std::move(bytes)); }, [] {});
  std::optional<testing::NoNewDescriptors> none(std::in_place);
  const auto end = RelayDoor::Clock::now() + std::chrono::seconds(10);
  while (door->refused().empty() && RelayDoor::Clock::now() < end) {
    link.Call();
    std::this_thread::yield();
  }
  none.reset();
  EXPECT_THAT(door->refused(), StartsWith("caller 7 by post: cannot open a descriptor"));
  std::thread caller(
      [&] { Must(CallThrough(std::make_unique<Post>(office), Known(), Patient())); });
  Await(*door, 1);
  caller.join();
}

TEST(RelayDoorTest, AllAreToldWhenTheThirdPartyIsGone) {
  Office office;
  const auto door = Serve(office);
  std::thread caller([&] {
    const auto stream = Must(CallThrough(std::make_unique<Post>(office), Known(), Patient()));
    Write(*stream, "x");
    EXPECT_TRUE(absl::IsUnavailable(EndOf(*stream)));
  });
  const std::vector<Caller> links = Await(*door, 1);
  EXPECT_EQ(Read(*links[0].stream, 1), "x");
  {
    const std::lock_guard lock(office.mutex);
    office.closed = true;
  }
  office.changed.notify_all();
  EXPECT_TRUE(absl::IsUnavailable(EndOf(*links[0].stream)));
  caller.join();
  EXPECT_TRUE(absl::IsUnavailable(door->Advance({}, RelayDoor::Clock::now()).status()));
}

}  // namespace
}  // namespace dtnn
