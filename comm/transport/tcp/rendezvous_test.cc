#include "comm/transport/tcp/rendezvous.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/transport/tcp/plain_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/forbid_call.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::chrono::seconds kTimeout(60);

JobSecret SecretOf(char letter) { return *JobSecret::Of(std::string(40, letter)); }

CommunicatorOptions Within(milliseconds timeout) {
  CommunicatorOptions options;
  options.timeout = timeout;
  return options;
}

// Ranks that are threads, around a listener of rank 0.
class Job {
 public:
  explicit Job(int size, const std::string& host = "127.0.0.1")
      : size_(size), listener_(Must(Listen({host, 0}))) {
    address_ = Must(listener_.Local());
    meshes_.resize(size_t(size));
  }
  ~Job() { Wait(); }

  const Endpoint& address() const { return address_; }
  // As the other ranks call it.
  void set_host(const std::string& host) { address_.host = host; }

  void Start(int rank, char secret = 'a', int size = 0) {
    Start({.rank = rank, .size = size > 0 ? size : size_, .address = address_}, secret);
  }
  void Start(RendezvousOptions options, char secret = 'a') {
    if (options.rank == 0) options.listener = listener_.Release();
    threads_.emplace_back([this, options, secret] {
      CommunicatorOptions patience = Within(kTimeout);
      if (options.rank == 0) {
        patience.interrupted = [this] { return ended_.load(); };
        patience.grace = milliseconds(1);
      }
      meshes_[size_t(options.rank)] = Meet(options, SecretOf(secret), patience);
    });
  }
  // Lets rank 0 wait no longer.
  void End() { ended_ = true; }
  // Waits for the last one that was started.
  void WaitForLast() {
    threads_.back().join();
    threads_.pop_back();
  }
  void Wait() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  absl::StatusOr<Mesh>& mesh(int rank) { return *meshes_[size_t(rank)]; }

 private:
  const int size_;
  Socket listener_;
  Endpoint address_;
  std::vector<std::optional<absl::StatusOr<Mesh>>> meshes_;
  std::atomic<bool> ended_ = false;
  std::vector<std::thread> threads_;
};

Socket RawCaller(const Endpoint& address, const std::string& says = "") {
  Socket socket = Must(StartConnecting(Must(Resolve(address)).front()));
  pollfd descriptor = {socket.descriptor(), POLLOUT, 0};
  poll(&descriptor, 1, -1);
  if (!says.empty()) send(socket.descriptor(), says.data(), says.size(), MSG_NOSIGNAL);
  return socket;
}

void ExpectConnected(Job& job, int size) {
  for (int rank = 0; rank < size; ++rank) {
    ASSERT_TRUE(job.mesh(rank).ok()) << job.mesh(rank).status();
    const Mesh& mesh = *job.mesh(rank);
    EXPECT_EQ(mesh.place.rank, rank);
    EXPECT_EQ(mesh.place.node_size, size);
    EXPECT_EQ(mesh.place.node_rank, rank);
    for (int other = 0; other < size; ++other) {
      EXPECT_EQ(mesh.links[size_t(other)].stream == nullptr, other == rank);
    }
  }
}

TEST(RendezvousTest, RanksMeetInAnyOrder) {
  for (int size = 1; size <= 5; ++size) {
    Job job(size);
    for (int rank = size - 1; rank >= 0; --rank) job.Start(rank);
    job.Wait();
    ExpectConnected(job, size);
  }
}

// Without a name this host is ::1, then 127.0.0.1; rank 0 listens at one of them only.
// Or what should be carried over TLS would be carried as it is.
TEST(RendezvousTest, EveryConnectionIsOfTheGivenMaker) {
  std::mutex mutex;
  std::set<const Stream*> made;
  Job job(3);
  for (int rank = 0; rank < 3; ++rank) {
    job.Start({.rank = rank,
               .size = 3,
               .address = job.address(),
               .stream = [&](Socket socket,
                             const std::string&) -> absl::StatusOr<std::unique_ptr<Stream>> {
                 absl::StatusOr<std::unique_ptr<Stream>> stream = PlainStream(std::move(socket));
                 const std::lock_guard lock(mutex);
                 if (stream.ok()) made.insert(stream->get());
                 return stream;
               }});
  }
  job.Wait();
  ExpectConnected(job, 3);
  for (int rank = 0; rank < 3; ++rank) {
    for (int other = 0; other < 3; ++other) {
      if (other == rank) continue;
      EXPECT_TRUE(made.contains(job.mesh(rank)->links[size_t(other)].stream.get()))
          << rank << " to " << other;
    }
  }
}

TEST(RendezvousTest, AllAddressesOfAHostAreTried) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    if (!Listen({host, 0}).ok()) {
      std::printf("not tested with %s, which this machine does not have\n", host);
      continue;
    }
    Job job(2, host);
    job.set_host("");
    EXPECT_GT(Must(Resolve(job.address())).size(), 1u);
    job.Start(0);
    job.Start(1);
    job.Wait();
    ExpectConnected(job, 2);
  }
}

// As on two hosts: to rank 0's, its own name means an address of itself alone, as with Debian's
// /etc/hosts; the other knows a better one. A rank beside rank 0 must be called there, too.
TEST(RendezvousTest, AnAddressOfOneHostAloneIsNotTheOneThatOthersCall) {
  Job job(3, "");
  const Endpoint from_elsewhere = {.host = "127.0.0.2", .port = job.address().port};
  job.set_host("");  // a name, and what it means here
  job.Start(0);
  job.Start(1);
  job.Start({.rank = 2, .size = 3, .address = from_elsewhere});
  job.Wait();
  ExpectConnected(job, 3);
  EXPECT_THAT(job.mesh(2)->links[1].address, ::testing::StartsWith("127.0.0.2:"));
}

// Elastic runs meet once per generation.
TEST(RendezvousTest, OneRankAloneLeavesNoListenerOpen) {
  Socket listener = Must(Listen({"127.0.0.1", 0}));
  const int descriptor = listener.Release();
  RendezvousOptions options;  // one rank
  options.listener = descriptor;
  ASSERT_TRUE(Meet(options, SecretOf('a'), Within(kTimeout)).ok());
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
  EXPECT_EQ(errno, EBADF);
}

// A rank that cannot accept connections says why, and does not wait in vain.
TEST(RendezvousTest, TooManyOpenFilesEndTheWait) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers open files themselves, and find faults where they cannot";
#endif
  Socket listener = Must(Listen({"127.0.0.1", 0}));
  const Endpoint address = Must(listener.Local());
  const Socket caller = RawCaller(address);
  const int next = dup(0);
  ASSERT_GE(next, 0);
  close(next);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = rlim_t(next);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const JobSecret secret = SecretOf('a');
  const auto call = [&](const std::string& host) {
    return Meet({.rank = 1, .size = 2, .address = {host, 1}}, secret, Within(kTimeout)).status();
  };
  const absl::Status calling = call("127.0.0.1"), resolving = call("localhost");
  RendezvousOptions options = {.rank = 0, .size = 2, .address = address};
  options.listener = listener.Release();
  const absl::Status accepting = Meet(options, secret, Within(kTimeout)).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  for (const absl::Status& status : {accepting, calling, resolving}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("Too many open files"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("ulimit -n"));
  }
}

TEST(RendezvousTest, OtherCallersDoNotKeepThemFromMeeting) {
  Job job(3);
  std::vector<Socket> callers;
  for (int i = 0; i < 150; ++i) callers.push_back(RawCaller(job.address()));
  callers.push_back(RawCaller(job.address(), std::string(1000, 'x')));
  callers.push_back(RawCaller(job.address(), "GET / HTTP/1.1\r\n\r\n"));
  callers.push_back(RawCaller(job.address(), "DTNN"));
  for (int rank = 0; rank < 3; ++rank) job.Start(rank);
  job.Wait();
  ExpectConnected(job, 3);
}

TEST(RendezvousTest, AnotherSecretIsRefusedAndSaid) {
  Job job(2);
  job.Start(0, 'a');
  job.Start(1, 'b');
  job.WaitForLast();
  job.End();
  job.Wait();
  EXPECT_EQ(job.mesh(1).status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(job.mesh(1).status().message()),
              HasSubstr("rank 1 cannot join rank 0 at " + job.address().ToString() +
                        ": it does not know this job's secret"));
  EXPECT_EQ(job.mesh(0).status().code(), absl::StatusCode::kUnavailable);
}

TEST(RendezvousTest, AnotherNumberOfRanksIsRefusedAndSaid) {
  Job job(2);
  job.Start(0);
  job.Start(1, 'a', 3);
  job.WaitForLast();
  job.End();
  job.Wait();
  EXPECT_THAT(std::string(job.mesh(1).status().message()),
              HasSubstr("it is rank 0 of 2, and this process calls rank 0 of 3"));
  EXPECT_THAT(std::string(job.mesh(0).status().message()),
              HasSubstr("which calls rank 0 of 3; this is rank 0 of 2"));
}

// The first process of a rank keeps its place against later ones.
TEST(RendezvousTest, ASecondProcessOfARankIsRefusedWithWords) {
  Job job(3);
  job.Start(0);
  std::promise<absl::Status> refused;
  std::vector<std::thread> twins;
  std::atomic<int> ended = 0;
  for (int i = 0; i < 2; ++i) {
    twins.emplace_back([&] {
      const absl::Status status =
          Meet({.rank = 1, .size = 3, .address = job.address()}, SecretOf('a'), Within(kTimeout))
              .status();
      if (ended++ == 0) refused.set_value(status);
    });
  }
  // The other one waits for rank 2.
  const absl::Status status = refused.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("rank 1 cannot join rank 0 at " + job.address().ToString() +
                        ": another process has joined it as rank 1"));
  job.Start(2);
  job.Wait();
  for (std::thread& twin : twins) twin.join();
  EXPECT_EQ(job.mesh(0).status(), absl::OkStatus());
  EXPECT_EQ(job.mesh(2).status(), absl::OkStatus());
}

// Says when it has sent so many messages.
class CountingStream : public Stream {
 public:
  CountingStream(Socket socket, int count, std::function<void()> reached)
      : stream_(PlainStream(std::move(socket))), left_(count), reached_(std::move(reached)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override { return stream_->Read(into); }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    const absl::StatusOr<size_t> written = stream_->Write(from);
    if (--left_ == 0) reached_();
    return written;
  }
  void CloseWriting() override { stream_->CloseWriting(); }
  int descriptor() const override { return stream_->descriptor(); }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return stream_->binding(); }

 private:
  const std::unique_ptr<Stream> stream_;
  int left_;
  const std::function<void()> reached_;
};

// Rank 0 ends when it has welcomed rank 1.
TEST(RendezvousTest, WhoIsMissingIsNamed) {
  Job job(3);
  RendezvousOptions options = {.rank = 0, .size = 3, .address = job.address()};
  options.stream = [&](Socket socket, const std::string&) -> std::unique_ptr<Stream> {
    return std::make_unique<CountingStream>(std::move(socket), 2, [&] { job.End(); });
  };
  job.Start(options);
  job.Start(1);
  job.Wait();
  EXPECT_THAT(std::string(job.mesh(0).status().message()),
              AllOf(HasSubstr("rank 0 has waited"), HasSubstr("for rank 2 to connect")));
  EXPECT_THAT(std::string(job.mesh(1).status().message()), HasSubstr("is gone"));
}

TEST(RendezvousTest, WithoutRankZeroTheAddressIsSaid) {
  Endpoint nobody;
  {
    const Socket closed = Must(Listen({"127.0.0.1", 0}));
    nobody = Must(closed.Local());
  }
  const absl::Status status =
      Meet({.rank = 1, .size = 2, .address = nobody}, SecretOf('a'), Within(milliseconds(300)))
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(status.message()), HasSubstr("rank 0 at " + nobody.ToString()));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Connection refused"));
}

bool Shares(Job& job, int rank, int other) {
  return job.mesh(rank)->links[size_t(other)].stream->unpolled() != nullptr;
}

TEST(RendezvousTest, RanksThatAskForItShareMemory) {
  Job job(4);
  for (int rank = 0; rank < 4; ++rank) {
    job.Start({.rank = rank, .size = 4, .address = job.address(), .share_memory = rank != 1});
  }
  job.Wait();
  ExpectConnected(job, 4);
  for (int rank = 0; rank < 4; ++rank) {
    for (int other = 0; other < 4; ++other) {
      if (other == rank) continue;
      EXPECT_EQ(Shares(job, rank, other), rank != 1 && other != 1) << rank << " and " << other;
    }
  }
}

// The lines of three ranks of a host, of which some cannot make shared memory.
std::vector<std::string> LinesWithout(const std::set<int>& forbidden) {
  constexpr int kRanks = 3;
  std::mutex mutex;
  std::vector<std::string> lines;
  Socket listener = Must(Listen({"127.0.0.1", 0}));
  const Endpoint address = Must(listener.Local());
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back([&, rank] {
      ASSERT_TRUE(!forbidden.contains(rank) || testing::ForbidCall(SYS_memfd_create));
      CommunicatorOptions options = Within(kTimeout);
      options.warn = [&](std::string_view line) {
        const std::lock_guard lock(mutex);
        lines.emplace_back(line);
      };
      const absl::StatusOr<Mesh> mesh = Meet({.rank = rank,
                                              .size = kRanks,
                                              .address = address,
                                              .listener = rank == 0 ? listener.Release() : -1,
                                              .share_memory = true},
                                             SecretOf('a'), options);
      ASSERT_EQ(mesh.status(), absl::OkStatus());
      for (int other = 0; other < kRanks; ++other) {  // the lower of two makes it
        if (other == rank) continue;
        const bool shares = mesh->links[size_t(other)].stream->unpolled() != nullptr;
        EXPECT_EQ(shares, !forbidden.contains(std::min(rank, other))) << rank << ", " << other;
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return lines;
}

TEST(RendezvousTest, WhereMemoryCannotBeSharedOneLineSaysSo) {
  const std::string of_others =
      " of its host by TCP, not through shared memory, which is faster: cannot make shared memory: "
      "Operation not permitted";
  EXPECT_THAT(LinesWithout({}), IsEmpty());
  EXPECT_THAT(LinesWithout({0, 1, 2}),
              ElementsAre("rank 0 exchanges with rank 1 and 1 more" + of_others));
  EXPECT_THAT(LinesWithout({0}),
              ElementsAre("rank 0 exchanges with rank 1 and 1 more" + of_others));
  EXPECT_THAT(LinesWithout({1}), ElementsAre("rank 1 exchanges with rank 2" + of_others));
}

TEST(RendezvousTest, ASignalEndsTheWait) {
  CommunicatorOptions options = Within(kTimeout);
  options.interrupted = [] { return true; };
  options.grace = milliseconds(10);
  const Socket listener = Must(Listen({"127.0.0.1", 0}));
  const absl::Status status =
      Meet({.rank = 1, .size = 2, .address = Must(listener.Local())}, SecretOf('a'), options)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("received the signal to end"));
}

}  // namespace
}  // namespace dtnn
