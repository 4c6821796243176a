// Coordinator and members over sockets, with ranks that are threads: the next generation
// after losses, pauses and returns, and the answer to ranks without a place in it.

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/gather_values.h"
#include "comm/ranks/elastic/coordinator.h"
#include "comm/ranks/elastic/membership.h"
#include "comm/ranks/elastic/messages.h"
#include "comm/ranks/exchange/exchange_process.h"
#include "comm/transport/meeting/stream_door.h"
#include "comm/transport/tcp/dial.h"
#include "comm/transport/tcp/rendezvous.h"
#include "comm/transport/tcp/tcp_listener.h"
#include "comm/wait.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

// Waited for only where something is wrong.
constexpr milliseconds kTimeout(30'000);

JobSecret SecretOf(const char* text = "0123456789abcdef0123456789abcdef") {
  return Must(JobSecret::Of(text));
}

// A coordinator with a thread of its own.
class Job {
 public:
  explicit Job(CoordinatorOptions options, const std::string& host = "127.0.0.1") {
    Socket listener = Must(Listen({.host = host, .port = 0}));
    address_ = Must(listener.Local());
    options.more_come = [this] { return more_come.load(); };
    coordinator_ = std::make_unique<Coordinator>(options, SecretOf(), std::move(listener));
    thread_ = std::thread([this] {
      while (!stop_) {
        std::vector<pollfd> descriptors;
        coordinator_->AddTo(descriptors);
        poll(descriptors.data(), descriptors.size(), 5);
        EXPECT_TRUE(coordinator_->Turn(descriptors).ok());
      }
    });
  }
  ~Job() {
    stop_ = true;
    thread_.join();
  }

  const Endpoint& address() const { return address_; }
  std::atomic<bool> more_come = false;

 private:
  Endpoint address_;
  std::unique_ptr<Coordinator> coordinator_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

// What a rank of a run is, as far as these tests see it.
class Rank {
 public:
  explicit Rank(const Job& job, milliseconds timeout = kTimeout) : Rank(job.address(), timeout) {}
  explicit Rank(const Endpoint& coordinator, milliseconds timeout = kTimeout)
      : patience_{.timeout = timeout,
                  .warn_after = timeout,
                  .warn =
                      [this](std::string_view line) {
                        std::lock_guard lock(mutex_);
                        warnings_ += line;
                      }},
        membership_(std::make_unique<Membership>(MembershipOptions{.coordinator = coordinator},
                                                 SecretOf(), patience_)) {}

  // In the background; `formation` and `communicator` are there when it is over.
  std::future<absl::Status> Form(bool holds_state, std::vector<int> lost = {}) {
    return std::async(std::launch::async, [this, holds_state, lost] {
      communicator.reset();
      process.reset();
      absl::StatusOr<std::optional<Formation>> formed =
          membership_->Form({.holds_state = holds_state, .may_grow = may_grow, .lost = lost});
      DTNN_RETURN_IF_ERROR(formed.status());
      ended = !formed->has_value();
      if (ended) return absl::OkStatus();
      formation = *std::move(*formed);
      address_of_rank_0 = formation.mesh.place.rank == 1 ? formation.mesh.links[0].address : "";
      process = std::make_unique<ExchangeProcess>(patience_, std::move(formation.mesh));
      DTNN_ASSIGN_OR_RETURN(communicator, process->Connect(patience_));
      return absl::OkStatus();
    });
  }
  // As if its process had been killed.
  void Die() {
    communicator.reset();
    process.reset();
    membership_.reset();
  }
  int rank() const { return communicator->rank(); }
  int size() const { return communicator->size(); }
  bool newcomers_wait() { return membership_->newcomers_wait(); }
  void Finish() { membership_->Finish(); }
  std::string warnings() {
    std::lock_guard lock(mutex_);
    return warnings_;
  }

  bool may_grow = true;
  Formation formation;
  bool ended = false;
  std::string address_of_rank_0;
  std::unique_ptr<ExchangeProcess> process;
  std::unique_ptr<Communicator> communicator;

 private:
  std::mutex mutex_;
  std::string warnings_;
  const CommunicatorOptions patience_;
  std::unique_ptr<Membership> membership_;
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

Ranks Make(const Job& job, int count, milliseconds timeout = kTimeout) {
  Ranks ranks;
  for (int i = 0; i < count; ++i) ranks.push_back(std::make_unique<Rank>(job, timeout));
  return ranks;
}

// All of them join, with the state; what each is afterwards follows from `rank()`.
void FormAll(const std::vector<Rank*>& ranks, bool holds_state, const std::vector<int>& lost = {}) {
  std::vector<std::future<absl::Status>> formed;
  for (Rank* rank : ranks) formed.push_back(rank->Form(holds_state, lost));
  for (std::future<absl::Status>& status : formed) {
    const absl::Status formed_status = status.get();
    EXPECT_TRUE(formed_status.ok()) << formed_status;
  }
}

std::vector<Rank*> Pointers(const Ranks& ranks) {
  std::vector<Rank*> pointers;
  for (const auto& rank : ranks) pointers.push_back(rank.get());
  return pointers;
}

Rank* ByNumber(const std::vector<Rank*>& ranks, int number) {
  for (Rank* rank : ranks) {
    if (rank->rank() == number) return rank;
  }
  ADD_FAILURE() << "no rank " << number;
  return ranks[0];
}

// They can exchange something, and count themselves alike.
void ExpectTogether(const std::vector<Rank*>& ranks) {
  std::vector<std::future<void>> done;
  for (Rank* rank : ranks) {
    done.push_back(std::async(std::launch::async, [rank, &ranks] {
      EXPECT_EQ(rank->size(), int(ranks.size()));
      const auto all = GatherValues<int64_t>(*rank->communicator, rank->formation.number);
      ASSERT_TRUE(all.ok()) << all.status();
      EXPECT_THAT(*all, ::testing::Each(rank->formation.number));
    }));
  }
  for (std::future<void>& each : done) each.get();
}

TEST(ElasticTest, TheFirstGenerationBeginsWhenAllAreThere) {
  const Job job({.range = {.min = 2, .max = 4}, .first = 3});
  const Ranks ranks = Make(job, 3);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  for (const auto& rank : ranks) {
    EXPECT_EQ(rank->formation.number, 1);
    EXPECT_FALSE(rank->formation.keeps_state);
    EXPECT_FALSE(rank->formation.goes_on);
  }
  ExpectTogether(Pointers(ranks));
}

TEST(ElasticTest, FewerThanAwaitedBeginAfterTheTimeout) {
  const Job job({.range = {.min = 2, .max = 4}, .first = 3});
  const Ranks ranks = Make(job, 2, milliseconds(2000));
  FormAll(Pointers(ranks), /*holds_state=*/false);
  ExpectTogether(Pointers(ranks));
}

TEST(ElasticTest, TooFewToBeginAreToldSo) {
  const Job job({.range = {.min = 2, .max = 4}, .first = 3});
  Rank alone(job, milliseconds(2000));
  const absl::Status status = alone.Form(false).get();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("fewer than the 2 ranks"));
}

// The coordinator is older than the rank's patience when the rank comes.
TEST(ElasticTest, TheFirstGenerationIsAwaitedFromWhenARankWaits) {
  constexpr milliseconds kPatience(1000);
  const Job job({.range = {.min = 2, .max = 4}, .first = 2});
  std::this_thread::sleep_for(kPatience);
  Rank alone(job, kPatience);
  const Clock::time_point begin = Clock::now();
  EXPECT_TRUE(absl::IsFailedPrecondition(alone.Form(false).get()));
  EXPECT_GE(Clock::now() - begin, kPatience);
}

TEST(ElasticTest, TheOthersOfALostRankGoOnWhicheverItIs) {
  for (const int victim : {0, 1, 2}) {
    SCOPED_TRACE(victim);
    const Job job({.range = {.min = 2, .max = 4}, .first = 3});
    const Ranks ranks = Make(job, 3);
    FormAll(Pointers(ranks), /*holds_state=*/false);
    std::vector<Rank*> left = Pointers(ranks);
    Rank* const lost = ByNumber(left, victim);
    std::erase(left, lost);
    std::ranges::sort(left, {}, &Rank::rank);
    const Clock::time_point begin = Clock::now();
    lost->Die();
    FormAll(left, /*holds_state=*/true, {victim});
    EXPECT_LT(Clock::now() - begin, kTimeout / 2);
    for (size_t i = 0; i < left.size(); ++i) {
      EXPECT_EQ(left[i]->rank(), int(i));  // in their order
      EXPECT_EQ(left[i]->formation.number, 2);
      EXPECT_TRUE(left[i]->formation.keeps_state);
      EXPECT_TRUE(left[i]->formation.goes_on);
    }
    ExpectTogether(left);
  }
}

TEST(ElasticTest, RanksWithTheStateComeFirst) {
  const Job job({.range = {.min = 1, .max = 4}, .first = 3});
  const Ranks ranks = Make(job, 3);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  const std::vector<Rank*> all = Pointers(ranks);
  Rank *zero = ByNumber(all, 0), *one = ByNumber(all, 1), *two = ByNumber(all, 2);
  auto without = zero->Form(false), with = one->Form(true), also = two->Form(true);
  EXPECT_TRUE(without.get().ok() && with.get().ok() && also.get().ok());
  EXPECT_EQ(one->rank(), 0);
  EXPECT_EQ(two->rank(), 1);
  EXPECT_EQ(zero->rank(), 2);
  EXPECT_FALSE(zero->formation.keeps_state);
  EXPECT_TRUE(zero->formation.goes_on);
}

// It has continued with a state: to begin anew without it would be another run.
TEST(ElasticTest, WhereNobodyHasTheStateOfARunThatHasBegunItEnds) {
  const Job job({.range = {.min = 1, .max = 4}, .first = 2});
  const Ranks ranks = Make(job, 2);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  FormAll(Pointers(ranks), /*holds_state=*/false);  // nothing is lost before it has begun
  FormAll(Pointers(ranks), /*holds_state=*/true);
  auto one = ranks[0]->Form(false), other = ranks[1]->Form(false);
  for (const absl::Status& status : {one.get(), other.get()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("had the state of the run"));
  }
}

TEST(ElasticTest, MessagesOfAnOlderGenerationAreRefused) {
  const Job job({.range = {.min = 2, .max = 4}, .first = 3});
  const Ranks ranks = Make(job, 3);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  std::vector<Rank*> left = Pointers(ranks);
  Rank* const lost = ByNumber(left, 2);
  std::erase(left, lost);
  lost->Die();
  FormAll(left, /*holds_state=*/true, {2});
  const std::string door = ByNumber(left, 1)->address_of_rank_0;
  for (const char* purpose : {"elastic generation 1", "elastic generation 3", "generation 2"}) {
    const JobSecret older = Must(SecretOf().For(purpose));
    const absl::StatusOr<Mesh> mesh = Meet(
        {.rank = 1, .size = 2, .address = Must(ParseEndpoint(door))}, older, {.timeout = kTimeout});
    EXPECT_TRUE(absl::IsPermissionDenied(mesh.status())) << purpose << ": " << mesh.status();
  }
  ExpectTogether(left);
}

TEST(ElasticTest, NewcomersAreTakenInWhenAllHavePaused) {
  const Job job({.range = {.min = 1, .max = 4}, .first = 2});
  const Ranks ranks = Make(job, 2);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  for (const auto& rank : ranks) EXPECT_FALSE(rank->newcomers_wait());
  Rank newcomer(job);
  auto formed = newcomer.Form(false);
  const Clock::time_point end = Clock::now() + kTimeout;
  while (!ranks[0]->newcomers_wait() || !ranks[1]->newcomers_wait()) ASSERT_LT(Clock::now(), end);
  FormAll(Pointers(ranks), /*holds_state=*/true);
  ASSERT_TRUE(formed.get().ok());
  EXPECT_EQ(newcomer.rank(), 2);
  EXPECT_FALSE(newcomer.formation.keeps_state);
  EXPECT_TRUE(newcomer.formation.goes_on);
  std::vector<Rank*> all = Pointers(ranks);
  all.push_back(&newcomer);
  for (Rank* rank : all) EXPECT_FALSE(rank->newcomers_wait());
  ExpectTogether(all);
}

// As where the coordinator's host is known to itself by an address that others cannot call.
TEST(ElasticTest, ARankBesideTheCoordinatorIsCalledWhereOthersReachThat) {
  const Job job({.range = {.min = 1, .max = 2}, .first = 1}, "");
  const uint16_t port = job.address().port;
  Rank beside(Endpoint{.host = "", .port = port});
  ASSERT_TRUE(beside.Form(/*holds_state=*/false).get().ok());
  Rank elsewhere(Endpoint{.host = "127.0.0.2", .port = port});
  auto formed = elsewhere.Form(false);
  const Clock::time_point end = Clock::now() + kTimeout;
  while (!beside.newcomers_wait()) ASSERT_LT(Clock::now(), end);
  FormAll({&beside}, /*holds_state=*/true);
  ASSERT_TRUE(formed.get().ok());
  ASSERT_EQ(elsewhere.rank(), 1);
  EXPECT_THAT(elsewhere.address_of_rank_0, ::testing::StartsWith("127.0.0.2:"));
  ExpectTogether({&beside, &elsewhere});
}

TEST(ElasticTest, WhereARunCannotGrowOnlyPlacesOfLostRanksAreFilled) {
  const Job job({.range = {.min = 1, .max = 4}, .first = 2});
  const Ranks ranks = Make(job, 2);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  const Ranks newcomers = Make(job, 2);
  auto one = newcomers[0]->Form(false);
  Rank* const zero = ByNumber(Pointers(ranks), 0);
  const Clock::time_point end = Clock::now() + kTimeout;
  while (!zero->newcomers_wait()) ASSERT_LT(Clock::now(), end);
  auto two = newcomers[1]->Form(false);
  ByNumber(Pointers(ranks), 1)->Die();
  zero->may_grow = false;
  EXPECT_TRUE(zero->Form(true, {1}).get().ok());
  EXPECT_EQ(zero->size(), 2);
  while (!zero->newcomers_wait()) ASSERT_LT(Clock::now(), end);
  zero->may_grow = true;
  const auto is_in = [](const std::future<absl::Status>& newcomer) {
    return newcomer.wait_for(milliseconds(1)) == std::future_status::ready;
  };
  bool first_is_in = false;
  while (!(first_is_in = is_in(one)) && !is_in(two)) ASSERT_LT(Clock::now(), end);
  Rank* const in = newcomers[first_is_in ? 0 : 1].get();
  Rank* const out = newcomers[first_is_in ? 1 : 0].get();
  FormAll({zero, in}, /*holds_state=*/true);
  EXPECT_TRUE(one.get().ok());
  EXPECT_TRUE(two.get().ok());
  ExpectTogether({zero, in, out});
}

TEST(ElasticTest, OneTooManyWaitsUntilAnotherIsLost) {
  const Job job({.range = {.min = 1, .max = 2}, .first = 2});
  const Ranks ranks = Make(job, 2);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  Rank spare(job);
  auto formed = spare.Form(false);
  const Clock::time_point end = Clock::now() + kTimeout;
  while (spare.warnings().empty()) ASSERT_LT(Clock::now(), end);
  EXPECT_THAT(spare.warnings(), HasSubstr("has the 2 ranks that it may have at most"));
  for (const auto& rank : ranks) EXPECT_FALSE(rank->newcomers_wait());
  Rank* const one = ByNumber(Pointers(ranks), 1);
  Rank* const zero = ByNumber(Pointers(ranks), 0);
  one->Die();
  EXPECT_TRUE(zero->Form(true, {1}).get().ok());
  EXPECT_TRUE(formed.get().ok());
  EXPECT_EQ(spare.rank(), 1);
  ExpectTogether({zero, &spare});
}

TEST(ElasticTest, TooFewEndTheRunUnlessOthersCome) {
  for (const bool others : {false, true}) {
    Job job({.range = {.min = 2, .max = 2}, .first = 2});
    job.more_come = others;
    const Ranks ranks = Make(job, 2);
    FormAll(Pointers(ranks), /*holds_state=*/false);
    Rank *const zero = ByNumber(Pointers(ranks), 0), *const one = ByNumber(Pointers(ranks), 1);
    zero->Die();
    auto formed = one->Form(true, {0});
    Rank newcomer(job);
    if (others) {
      auto also = newcomer.Form(false);
      EXPECT_TRUE(formed.get().ok() && also.get().ok());
      EXPECT_EQ(one->rank(), 0);
      ExpectTogether({one, &newcomer});
      continue;
    }
    const absl::Status status = formed.get();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("fewer than the 2 ranks are left"));
    // Nor does any other rank continue.
    EXPECT_TRUE(absl::IsFailedPrecondition(newcomer.Form(false).get()));
  }
}

TEST(ElasticTest, WithoutTheStateNobodyGoesOn) {
  const Job job({.range = {.min = 1, .max = 2}, .first = 2});
  const Ranks ranks = Make(job, 2);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  Rank spare(job);
  auto formed = spare.Form(false);
  for (const auto& rank : ranks) rank->Die();
  const absl::Status status = formed.get();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("all ranks are gone that had the state"));
}

TEST(ElasticTest, ASilentRankIsLeftOutAndComesBackAsANewcomer) {
  const milliseconds timeout(15'000);
  const Job job({.range = {.min = 1, .max = 3}, .first = 3});
  const Ranks ranks = Make(job, 3, timeout);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  std::vector<Rank*> left = Pointers(ranks);
  Rank* const silent = ByNumber(left, 0);
  std::erase(left, silent);
  const Clock::time_point begin = Clock::now();
  FormAll(left, /*holds_state=*/true, {0});
  const auto passed = Clock::now() - begin;
  EXPECT_GE(passed, milliseconds(1000));
  EXPECT_LT(passed, timeout);  // both have given it up: nobody waits as long as that
  ExpectTogether(left);
  // It believes that it holds the state.
  auto back = silent->Form(true, {1, 2});
  const Clock::time_point end = Clock::now() + kTimeout;
  while (!left[0]->newcomers_wait() || !left[1]->newcomers_wait()) ASSERT_LT(Clock::now(), end);
  FormAll(left, /*holds_state=*/true);
  ASSERT_TRUE(back.get().ok());
  EXPECT_EQ(silent->rank(), 2);
  EXPECT_FALSE(silent->formation.keeps_state);
  left.push_back(silent);
  ExpectTogether(left);
}

// While some return, more may be on their way.
TEST(ElasticTest, TheAbsentHaveTimeFromTheLastReturnOn) {
  const milliseconds timeout(10'000);
  const Job job({.range = {.min = 1, .max = 3}, .first = 3});
  const Ranks ranks = Make(job, 3, timeout);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  std::vector<Rank*> left = Pointers(ranks);
  std::erase(left, ByNumber(left, 0));
  auto first = left[0]->Form(true, {0});
  std::this_thread::sleep_for(seconds(1));
  const Clock::time_point begin = Clock::now();
  auto last = left[1]->Form(true, {0});
  EXPECT_TRUE(first.get().ok() && last.get().ok());
  EXPECT_GE(Clock::now() - begin, timeout / 5);
  ExpectTogether(left);
}

TEST(ElasticTest, AnEndedRunIsToldToThoseThatWaitAndCome) {
  const Job job({.range = {.min = 1, .max = 2}, .first = 2});
  const Ranks ranks = Make(job, 2);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  Rank spare(job), late(job);
  auto formed = spare.Form(false);
  const Clock::time_point end = Clock::now() + kTimeout;
  while (spare.warnings().empty()) ASSERT_LT(Clock::now(), end);
  for (const auto& rank : ranks) rank->Finish();
  EXPECT_TRUE(formed.get().ok());
  EXPECT_TRUE(spare.ended);
  for (const auto& rank : ranks) rank->Die();
  EXPECT_TRUE(late.Form(false).get().ok());
  EXPECT_TRUE(late.ended);
}

// Until something has come, or for a moment.
void AwaitBytes(const Stream& stream) {
  pollfd descriptor = {stream.descriptor(), POLLIN, 0};
  poll(&descriptor, 1, 100);
}

// A member that speaks for itself: what it says need not make sense.
class RawCaller {
 public:
  explicit RawCaller(const Job& job) {
    Wait wait({.timeout = kTimeout});
    stream_ = Must(Dial({.address = job.address(),
                         .purpose = kCoordinatorPurpose,
                         .who = "another process",
                         .door = "the coordinator"},
                        SecretOf(), wait))
                  .stream;
  }
  void Say(std::string_view bytes) {
    const std::span<const std::byte> range = std::as_bytes(std::span(bytes));
    ASSERT_TRUE(stream_->Write({&range, 1}).ok());
  }
  // False where the connection ends first.
  bool Hear(ElasticNotice& notice) {
    std::string bytes;
    const Clock::time_point end = Clock::now() + kTimeout;
    while (bytes.size() < sizeof(notice) && Clock::now() < end) {
      std::byte next;
      const auto n = stream_->Read({&next, 1});
      if (!n.ok()) return false;
      if (*n > 0) {
        bytes.push_back(char(next));
      } else {
        AwaitBytes(*stream_);
      }
    }
    return ReadMessage(bytes, notice);
  }

 private:
  std::unique_ptr<Stream> stream_;
};

// A coordinator that speaks for itself, to one member.
class LoneCoordinator {
 public:
  LoneCoordinator() : listener_(Must(Listen({.host = "127.0.0.1", .port = 0}))) {
    address_ = Must(listener_.Local());
  }
  const Endpoint& address() const { return address_; }
  void Meet() {
    StreamDoor door(SecretOf(), kCoordinatorPurpose, TcpListener(std::move(listener_), nullptr));
    while (stream_ == nullptr) {
      std::vector<pollfd> descriptors;
      door.AddTo(descriptors);
      PollUntil(descriptors, door.next());
      for (Caller& caller : Must(door.Advance(descriptors, Clock::now()))) {
        stream_ = std::move(caller.stream);
      }
    }
  }
  void Say(const ElasticNotice& notice) {
    const std::span<const std::byte> range = std::as_bytes(std::span(BytesOfMessage(notice)));
    EXPECT_EQ(stream_->Write({&range, 1}).value_or(0), sizeof(notice));
  }
  ElasticWord Hear() {
    std::string bytes;
    ElasticWord word;
    const Clock::time_point end = Clock::now() + kTimeout;
    while (bytes.size() < sizeof(word) && Clock::now() < end) {
      std::byte next;
      const size_t n = Must(stream_->Read({&next, 1}));
      if (n > 0) {
        bytes.push_back(char(next));
      } else {
        AwaitBytes(*stream_);
      }
    }
    EXPECT_TRUE(ReadMessage(bytes, word));
    return word;
  }

 private:
  Socket listener_;
  Endpoint address_;
  std::unique_ptr<Stream> stream_;
};

// The answer about a rank's state holds, also where the generation is never complete: a
// state that does not count must not be the run's in the next one.
TEST(ElasticTest, AStateThatDoesNotCountDoesNotComeBackWithTheNextAttempt) {
  for (const bool keeps_state : {false, true}) {
    LoneCoordinator coordinator;
    const CommunicatorOptions patience = {.timeout = kTimeout};
    Membership member({.coordinator = coordinator.address()}, SecretOf(), patience);
    auto formed = std::async(std::launch::async, [&] {
      return member.Form({.holds_state = true, .may_grow = true, .lost = {1}});
    });
    coordinator.Meet();
    const ElasticWord first = coordinator.Hear();
    EXPECT_EQ(first.holds_state, 1);
    EXPECT_EQ(first.lost[0], 2u);
    ElasticNotice notice = {.kind = ElasticNotice::kFormed,
                            .generation = 5,
                            .rank = 0,
                            .size = 2,
                            .keeps_state = keeps_state,
                            .goes_on = 1};
    std::string_view("127.0.0.1").copy(notice.host, sizeof(notice.host) - 1);
    notice.port = first.port;
    coordinator.Say(notice);
    coordinator.Say({.kind = ElasticNotice::kBroken, .generation = 5});
    const ElasticWord second = coordinator.Hear();
    EXPECT_EQ(second.holds_state, keeps_state);
    EXPECT_EQ(second.lost[0], 0u) << "that was of another generation";
    coordinator.Say({.kind = ElasticNotice::kEnded});
    EXPECT_FALSE(Must(formed.get()).has_value());
  }
}

TEST(ElasticTest, WhoDiesOnItsWayIntoAGenerationDelaysNobodyForLong) {
  const Job job({.range = {.min = 1, .max = 3}, .first = 3});
  const Ranks ranks = Make(job, 2, seconds(60));
  std::vector<std::future<absl::Status>> formed;
  for (const auto& rank : ranks) formed.push_back(rank->Form(false));
  const Clock::time_point begin = Clock::now();
  {
    RawCaller third(job);
    third.Say(BytesOfMessage(ElasticWord{.timeout_ms = 60'000}));
    ElasticNotice notice;
    do {
      ASSERT_TRUE(third.Hear(notice));
    } while (notice.kind != ElasticNotice::kFormed);
    EXPECT_EQ(notice.size, 3);
  }
  for (std::future<absl::Status>& each : formed) EXPECT_TRUE(each.get().ok());
  EXPECT_LT(Clock::now() - begin, seconds(20));
  ExpectTogether(Pointers(ranks));
}

TEST(ElasticTest, WhoMakesNoSenseIsDroppedAndHarmsNobody) {
  const Job job({.range = {.min = 1, .max = 3}, .first = 2});
  const Ranks ranks = Make(job, 2);
  FormAll(Pointers(ranks), /*holds_state=*/false);
  ElasticNotice notice;
  for (const std::string& bytes :
       {std::string(sizeof(ElasticWord), '\xff'), std::string(100'000, '\0'),
        std::string(BytesOfMessage(ElasticWord{.kind = 77}))}) {
    RawCaller caller(job);
    caller.Say(bytes);
    EXPECT_FALSE(caller.Hear(notice));
  }
  {
    RawCaller not_a_member(job);  // cannot end the run
    not_a_member.Say(BytesOfMessage(ElasticWord{.kind = ElasticWord::kDone}));
    not_a_member.Say(BytesOfMessage(ElasticWord{.timeout_ms = INT64_MAX, .holds_state = 1}));
    ASSERT_TRUE(not_a_member.Hear(notice));
    EXPECT_NE(notice.kind, ElasticNotice::kEnded);
  }
  Membership foreign({.coordinator = job.address()}, SecretOf("another secret, of 32 characters!"),
                     {.timeout = kTimeout});
  EXPECT_TRUE(absl::IsPermissionDenied(foreign.Form({}).status()));
  ExpectTogether(Pointers(ranks));
}

TEST(ElasticTest, PlacesThatCannotBeAreNotTaken) {
  const std::pair<int, int> places[] = {{0, 0}, {-1, 2}, {2, 2}, {0, 1025}, {0, -1}};
  for (const auto& [rank, size] : places) {
    LoneCoordinator coordinator;
    Membership member({.coordinator = coordinator.address()}, SecretOf(), {.timeout = kTimeout});
    auto formed = std::async(std::launch::async, [&] { return member.Form({}); });
    coordinator.Meet();
    for (int attempt = 0; attempt < 5; ++attempt) {
      ElasticNotice notice = {
          .kind = ElasticNotice::kFormed, .generation = 1, .rank = rank, .size = size};
      std::string_view("127.0.0.1").copy(notice.host, sizeof(notice.host) - 1);
      notice.port = coordinator.Hear().port;
      coordinator.Say(notice);
    }
    EXPECT_EQ(formed.get().status().message(), "the coordinator names an impossible place")
        << rank << " of " << size;
  }
}

TEST(ElasticTest, SixtyFourWaitBesideTheRanks) {
  const Job job({.range = {.min = 1, .max = 1}, .first = 1});
  Rank rank(job);
  ASSERT_TRUE(rank.Form(/*holds_state=*/false).get().ok());
  std::vector<std::unique_ptr<RawCaller>> callers;
  ElasticNotice notice;
  const auto join = [&] {
    callers.push_back(std::make_unique<RawCaller>(job));
    callers.back()->Say(BytesOfMessage(ElasticWord{.timeout_ms = 60'000}));
    ASSERT_TRUE(callers.back()->Hear(notice)) << callers.size();
  };
  for (int i = 0; i < 64; ++i) {
    join();
    ASSERT_NE(notice.kind, ElasticNotice::kNoRoom) << i;
  }
  join();
  EXPECT_EQ(notice.kind, ElasticNotice::kNoRoom);
}

// The process of the coordinator may have few files for a moment.
TEST(ElasticTest, WithoutFilesCallersWaitUntilThereAreSome) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers open files themselves, and find faults where they cannot";
#endif
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  std::string said;
  Coordinator coordinator({.say = [&](std::string_view line) { said += line; }}, SecretOf(),
                          std::move(listener));
  const Socket caller = Must(StartConnecting(Must(Resolve(address)).front()));
  std::vector<pollfd> descriptors;
  const auto await = [&](int timeout) {
    descriptors.clear();
    coordinator.AddTo(descriptors);
    return poll(descriptors.data(), descriptors.size(), timeout);
  };
  ASSERT_EQ(await(-1), 1);
  {
    const testing::NoNewDescriptors none;
    EXPECT_TRUE(coordinator.Turn(descriptors).ok());
  }
  EXPECT_THAT(said, HasSubstr("ulimit -n"));
  EXPECT_EQ(await(0), 0) << "it would be called without end";
  EXPECT_LT(coordinator.next(), Clock::now() + seconds(1));
  while (descriptors.size() < 2) {
    await(5);
    ASSERT_TRUE(coordinator.Turn(descriptors).ok());
    await(0);
  }
}

TEST(ElasticTest, WithoutACoordinatorNobodyGoesOn) {
  auto job = std::make_unique<Job>(CoordinatorOptions{.range = {.min = 1, .max = 2}, .first = 1});
  Rank rank(*job, milliseconds(3000));
  EXPECT_TRUE(rank.Form(false).get().ok());
  job = nullptr;
  EXPECT_FALSE(rank.newcomers_wait());
  const absl::Status status = rank.Form(true).get();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status) || absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the coordinator of the ranks"));
}

}  // namespace
}  // namespace dtnn
