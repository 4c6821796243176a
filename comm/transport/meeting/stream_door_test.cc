// A door, its callers, what lies between them, and the clock: all in memory.

#include "comm/transport/meeting/stream_door.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::StartsWith;
using Clock = StreamDoor::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kPlaces = 128, kPerTurn = 8;
constexpr char kPurpose[] = "a test";
// Not those of this process.
constexpr int kNoDescriptor = -1000;

// Bytes on their way in one direction.
struct Pipe {
  std::string bytes;
  bool ended = false;   // nothing more is written
  bool unread = false;  // and nobody reads any more
};

// One end of a connection.
class End : public Stream {
 public:
  End(int descriptor, std::shared_ptr<Pipe> in, std::shared_ptr<Pipe> out,
      std::function<void(int)> heard = nullptr)
      : descriptor_(descriptor),
        in_(std::move(in)),
        out_(std::move(out)),
        heard_(std::move(heard)) {}
  ~End() override {
    in_->unread = true;
    out_->ended = true;
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    if (heard_) heard_(descriptor_);
    const size_t n = std::min(into.size(), in_->bytes.size());
    std::memcpy(into.data(), in_->bytes.data(), n);
    in_->bytes.erase(0, n);
    if (n == 0 && in_->ended) return absl::OutOfRangeError("closed by the other side");
    return n;
  }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    if (out_->unread) return absl::UnavailableError("broken pipe");
    out_->bytes.append(reinterpret_cast<const char*>(from[0].data()), from[0].size());
    return from[0].size();
  }
  void CloseWriting() override { out_->ended = true; }
  int descriptor() const override { return descriptor_; }
  absl::StatusOr<std::vector<uint8_t>> binding() const override { return std::vector<uint8_t>(); }

  void Say(std::string_view text) {
    if (!out_->unread) out_->bytes += text;
  }
  bool closed() const { return in_->ended; }

 private:
  const int descriptor_;
  const std::shared_ptr<Pipe> in_, out_;
  const std::function<void(int)> heard_;
};

class Callers : public Listener {
 public:
  int descriptor() const override { return kNoDescriptor; }
  absl::Status trouble;  // of every Accept
  absl::StatusOr<std::optional<Arrival>> Accept() override {
    if (!trouble.ok()) return trouble;
    if (waiting_.empty()) return std::nullopt;
    Arrival arrival = std::move(waiting_.front());
    waiting_.pop_front();
    return arrival;
  }

  std::unique_ptr<End> Connect(const std::string& host, std::function<void(int)> heard) {
    const int descriptor = kNoDescriptor - ++connections_;
    const auto in = std::make_shared<Pipe>(), out = std::make_shared<Pipe>();
    pipes_[descriptor] = in;
    waiting_.push_back({.stream = std::make_unique<End>(descriptor, in, out, std::move(heard)),
                        .host = host,
                        .address = host + ":" + std::to_string(connections_)});
    return std::make_unique<End>(descriptor, out, in);
  }

  // What poll would report.
  void Poll(std::span<pollfd> descriptors) {
    for (pollfd& each : descriptors) {
      if (each.fd == kNoDescriptor) {
        each.revents = waiting_.empty() ? 0 : POLLIN;
        continue;
      }
      const Pipe& in = *pipes_.at(each.fd);
      if (!in.bytes.empty() || in.ended) each.revents = POLLIN;
    }
  }

 private:
  int connections_ = 0;
  std::deque<Arrival> waiting_;
  std::map<int, std::shared_ptr<Pipe>> pipes_;  // of what the door hears
};

const JobSecret kSecret = Must(JobSecret::Of(std::string(40, 'a')));
const JobSecret kOther = Must(JobSecret::Of(std::string(40, 'x')));

class StreamDoorTest : public ::testing::Test {
 protected:
  StreamDoorTest() { Open(1); }

  void Open(uint64_t seed) {
    auto callers = std::make_unique<Callers>();
    callers_ = callers.get();
    door_ = std::make_unique<StreamDoor>(kSecret, kPurpose, std::move(callers), nullptr, seed);
  }

  std::unique_ptr<End> Connect(const std::string& host = "a") {
    return callers_->Connect(host, [this](int descriptor) { heard_.insert(descriptor); });
  }
  // One turn, later. Returns how many places are taken after it.
  size_t Turn(milliseconds later = milliseconds(1)) {
    now_ += later;
    std::vector<pollfd> descriptors;
    door_->AddTo(descriptors);
    callers_->Poll(descriptors);
    for (Caller& caller : Must(door_->Advance(descriptors, now_))) {
      arrived_.push_back(std::move(caller));
    }
    descriptors.clear();
    door_->AddTo(descriptors);
    return descriptors.size() - 1;
  }
  void FillAllPlaces() {
    while (ends_.size() < kPlaces) ends_.push_back(Connect());
    while (Turn(milliseconds(0)) < kPlaces) {
    }
    heard_.clear();
  }
  auto Closed() const { return std::ranges::count_if(ends_, &End::closed); }

  Clock::time_point now_ = Clock::time_point() + std::chrono::hours(1);
  std::set<int> heard_;  // descriptors
  Callers* callers_ = nullptr;
  std::unique_ptr<StreamDoor> door_;
  std::vector<Caller> arrived_;
  std::vector<std::unique_ptr<End>> ends_;
};

Greeting Greet(std::unique_ptr<Stream> stream, const JobSecret& secret,
               const std::string& card = "") {
  return {.stream = std::move(stream),
          .handshake = Must(Handshake::Calling(secret, kPurpose, card))};
}
std::string HelloOf(const JobSecret& secret) {
  return Must(Handshake::Calling(secret, kPurpose)).TakeOutput();
}

TEST_F(StreamDoorTest, WhoIsSilentCostsNothing) {
  FillAllPlaces();
  for (int turn = 0; turn < 10; ++turn) Turn();
  EXPECT_EQ(heard_.size(), 0u);
  ends_[77]->Say("D");
  while (heard_.empty()) Turn();
  EXPECT_EQ(heard_.size(), 1u);
}

TEST_F(StreamDoorTest, ATurnHearsAFewAndAllHaveTheirTurn) {
  FillAllPlaces();
  for (const auto& end : ends_) end->Say("D");
  std::set<int> all;
  while (all.size() < kPlaces) {
    heard_.clear();
    Turn();
    EXPECT_LE(heard_.size(), kPerTurn);
    all.insert(heard_.begin(), heard_.end());
    // A caller that was heard says more at once.
    for (const auto& end : ends_) end->Say("D");
  }
}

TEST_F(StreamDoorTest, TheTimeOfACallerIsLimited) {
  FillAllPlaces();
  EXPECT_EQ(door_->next(), now_ + seconds(10));
  EXPECT_EQ(Turn(milliseconds(9999)), kPlaces);
  for (int turn = 0; turn < 100 && Closed() < int(kPlaces); ++turn) Turn();
  EXPECT_EQ(Closed(), int(kPlaces));
  EXPECT_THAT(door_->refused(), testing::EndsWith(", which said too little"));
}

TEST_F(StreamDoorTest, TellsWhatHappenedToAConnectionAndWhatIsWrongWithACaller) {
  Connect();  // which is gone at once
  while (door_->refused().empty()) Turn();
  EXPECT_EQ(door_->refused(), "a:1: closed by the other side");
  const auto wrong = Connect();
  wrong->Say(std::string(200, 'G'));
  while (!wrong->closed()) Turn();
  EXPECT_THAT(door_->refused(), StartsWith("a:2, which is not a process"));
}

TEST_F(StreamDoorTest, WhoIsRecognisedComesWithItsCard) {
  Greeting caller = Greet(Connect(), kSecret, "rank 7");
  while (arrived_.empty()) {
    ASSERT_TRUE(caller.Advance().ok());
    Turn();
  }
  EXPECT_EQ(arrived_[0].address, "a:1");
  EXPECT_THAT(arrived_[0].card, StartsWith("rank 7"));
  EXPECT_TRUE(caller.Advance().ok() && caller.done());
}

TEST_F(StreamDoorTest, WhoIsRecognisedInATurnWhoseListenerFailsComesWithTheNext) {
  Greeting caller = Greet(Connect(), kSecret);
  Turn();
  const auto late = Connect();
  callers_->trouble = absl::ResourceExhaustedError("no files");
  while (!caller.done()) {
    ASSERT_TRUE(caller.Advance().ok());
    std::vector<pollfd> descriptors;
    door_->AddTo(descriptors);
    callers_->Poll(descriptors);
    EXPECT_EQ(door_->Advance(descriptors, now_).status(), callers_->trouble);
  }
  callers_->trouble = absl::OkStatus();
  Turn();
  EXPECT_EQ(arrived_.size(), 1u);
}

// Both are heard in one turn.
TEST_F(StreamDoorTest, OfTwoThatMayNotBothComeInTheSecondIsToldSo) {
  auto callers = std::make_unique<Callers>();
  callers_ = callers.get();
  const auto admit = [](std::string_view card, std::span<const std::string> others) {
    return std::ranges::count(others, card) == 0 ? absl::OkStatus()
                                                 : absl::AlreadyExistsError("is there");
  };
  door_ = std::make_unique<StreamDoor>(kSecret, kPurpose, std::move(callers), admit);
  Greeting first = Greet(Connect(), kSecret, "rank 7"),
           second = Greet(Connect(), kSecret, "rank 7");
  absl::Status status;
  for (int turn = 0; turn < 100 && status.ok(); ++turn) {
    ASSERT_TRUE(first.Advance().ok());
    status = second.Advance();
    Turn();
  }
  EXPECT_EQ(status.message(), "is there");
  EXPECT_TRUE(first.Advance().ok() && first.done());
  EXPECT_EQ(arrived_.size(), 1u);
}

TEST_F(StreamDoorTest, ManyOfOneAddressDoNotPushOutAnother) {
  const auto first = Connect("b");
  while (Turn() < 1) {
  }
  for (size_t i = 0; i < kPlaces + 20; ++i) {
    ends_.push_back(Connect());
    Turn(i + 1 == kPlaces ? kSilence : milliseconds(1));
  }
  for (int turn = 0; turn < 1000 && Closed() < 21; ++turn) Turn();
  EXPECT_EQ(Closed(), 21);
  EXPECT_FALSE(first->closed());
  EXPECT_EQ(Turn(), kPlaces);
}

TEST_F(StreamDoorTest, NewcomersDoNotPushOutThoseThatHaveJustCome) {
  FillAllPlaces();
  const auto late = Connect();
  for (int turn = 0; turn < 1000 && !late->closed(); ++turn) Turn(milliseconds(0));
  EXPECT_TRUE(late->closed());
  EXPECT_EQ(Turn(), kPlaces);
  EXPECT_EQ(Closed(), 0);
}

// A byte is enough, however long ago the caller came.
TEST_F(StreamDoorTest, NewcomersPushOutTheSilentAndNotThoseThatHaveJustSpoken) {
  FillAllPlaces();
  Turn(2 * kSilence);
  for (size_t i = 0; i < kPlaces; i += 2) ends_[i]->Say("D");
  while (heard_.size() < kPlaces / 2) Turn(milliseconds(0));
  std::vector<std::unique_ptr<End>> newcomers;
  for (int i = 0; i < 40; ++i) {
    newcomers.push_back(Connect());
    Turn(milliseconds(0));
  }
  EXPECT_EQ(Closed(), 40);
  for (size_t i = 0; i < kPlaces; i += 2) EXPECT_FALSE(ends_[i]->closed()) << i;
  for (const auto& newcomer : newcomers) EXPECT_FALSE(newcomer->closed());
}

// As many as a turn hears come before each turn.
TEST_F(StreamDoorTest, WhoIsHalfwayIsHeardBeforeThoseThatCome) {
  Greeting honest = Greet(Connect(), kSecret);
  std::list<Greeting> hostile;
  for (size_t turn = 0; turn < kPlaces / kPerTurn - 2; ++turn) {
    for (size_t i = 0; i < kPerTurn; ++i) {
      ASSERT_TRUE(hostile.emplace_back(Greet(Connect(), kOther)).Advance().ok());
    }
    ASSERT_TRUE(honest.Advance().ok());
    Turn();
  }
  EXPECT_EQ(arrived_.size(), 1u);
}

// A process of the job, which calls again and again until it is taken in. Each of its messages
// needs a round trip.
class Honest {
 public:
  explicit Honest(std::function<std::unique_ptr<End>()> connect,
                  milliseconds round_trip = milliseconds(20))
      : connect_(std::move(connect)), round_trip_(round_trip) {}

  bool done() const { return greeting_ && greeting_->done(); }
  void Turn(Clock::time_point now) {
    if (done() || now < next_) return;
    next_ = now + round_trip_;
    if (!greeting_) greeting_.emplace(Greet(connect_(), kSecret));
    if (greeting_->Advance().ok()) return;
    greeting_.reset();
    next_ = now + kPause;
  }

 private:
  static constexpr milliseconds kPause{100};

  const std::function<std::unique_ptr<End>()> connect_;
  const milliseconds round_trip_;
  Clock::time_point next_{};
  std::optional<Greeting> greeting_;
};

// Eight hellos in each millisecond, which need no secret, from the address of one of the two.
TEST_F(StreamDoorTest, HellosWithoutEndKeepNobodyOut) {
  const std::string hello = HelloOf(kOther);
  Honest near([this] { return Connect("a"); }), far([this] { return Connect("b"); });
  std::list<std::unique_ptr<End>> hostile;
  const Clock::time_point begin = now_;
  const auto attack = [&] {
    for (size_t i = 0; i < kPerTurn; ++i) {
      hostile.push_back(Connect());
      hostile.back()->Say(hello);
    }
    Turn();
    hostile.remove_if([](const auto& end) { return end->closed(); });
  };
  for (int i = 0; i < 500; ++i) attack();  // before anybody else calls
  while (!far.done() && now_ < begin + seconds(5)) {
    far.Turn(now_);
    attack();
  }
  EXPECT_TRUE(far.done());
  while (!near.done() && now_ < begin + seconds(60)) {
    near.Turn(now_);
    attack();
  }
  EXPECT_TRUE(near.done());
  EXPECT_EQ(arrived_.size(), 2u);
}

// More than have a place, all at once.
TEST_F(StreamDoorTest, ManyHonestCallersDoNotKeepEachOtherOut) {
  constexpr size_t kCallers = 3 * kPlaces;
  std::list<Honest> callers;
  for (size_t i = 0; i < kCallers; ++i) callers.emplace_back([this] { return Connect(); });
  const Clock::time_point begin = now_;
  while (arrived_.size() < kCallers && now_ < begin + seconds(10)) {
    for (Honest& caller : callers) caller.Turn(now_);
    Turn();
  }
  EXPECT_EQ(arrived_.size(), kCallers);
}

// A process that does not know the secret, and that comes back as soon as it has lost its place.
class Hostile {
 public:
  enum Kind { kSilent, kHello, kTrickle, kNoise, kForge, kHurry, kKinds };

  Hostile(Kind kind, std::function<std::unique_ptr<End>()> connect, milliseconds first)
      : kind_(kind), connect_(std::move(connect)), next_(Clock::time_point() + first) {}

  void Turn(Clock::time_point now) {
    if (now < next_) return;
    next_ = now + milliseconds(25);
    if (end_ != nullptr && (end_->closed() || kind_ == kHurry)) {
      end_ = nullptr;
      return;
    }
    const bool newly = end_ == nullptr;
    if (newly) {
      end_ = connect_();
      said_ = 0;
    }
    switch (kind_) {
      case kSilent:
      case kHurry:
        break;
      case kHello:
        if (newly) end_->Say(hello_);
        break;
      case kTrickle:  // never silent
        if (said_ < hello_.size()) end_->Say(hello_.substr(said_++, 1));
        break;
      case kNoise:
        if (newly) end_->Say(std::string(300, '\x7f'));
        break;
      case kForge:  // as far as the proof, which is heard first
        if (newly) end_->Say(hello_ + std::string(kCardBytes + sizeof(Proof), 'x'));
        break;
      case kKinds:
        break;
    }
  }

 private:
  const Kind kind_;
  const std::function<std::unique_ptr<End>()> connect_;
  const std::string hello_ = HelloOf(kOther);
  Clock::time_point next_;
  size_t said_ = 0;
  std::unique_ptr<End> end_;
};

// 1000 callers, of which 900 are hostile: from 30 addresses of their own, and from those of the
// honest ones. These are 25 to 200 ms away, and come one by one, in 1.6 s: all are in within 10.
TEST_F(StreamDoorTest, OfAThousandCallersTheHundredHonestOnesGetIn) {
  for (const uint64_t seed : {1, 2, 3}) {
    Open(seed);
    arrived_.clear();
    std::mt19937_64 random(seed);
    const auto connect = [this](const std::string& host) {
      return [this, host] { return Connect(host); };
    };
    std::vector<Hostile> hostile;
    for (int i = 0; i < 900; ++i) {
      // Every tenth shares the address of an honest one.
      const std::string host = i % 10 == 0 ? "honest-" + std::to_string(i / 10 % 20)
                                           : "hostile-" + std::to_string(i % 30);
      hostile.emplace_back(Hostile::Kind(i % Hostile::kKinds), connect(host),
                           milliseconds(random() % 1000));
    }
    std::vector<Honest> honest;
    for (int i = 0; i < 100; ++i) {
      honest.emplace_back(connect("honest-" + std::to_string(i % 20)),
                          milliseconds(25 + int(random() % 176)));
    }
    const Clock::time_point begin = now_;
    for (size_t came = 0; arrived_.size() < honest.size() && now_ < begin + seconds(10); ++came) {
      for (Hostile& caller : hostile) caller.Turn(now_);
      for (size_t i = 0; i < std::min(honest.size(), came / 8); ++i) honest[i].Turn(now_);
      Turn(milliseconds(2));
      ASSERT_LE(Turn(milliseconds(0)), kPlaces);
    }
    EXPECT_EQ(arrived_.size(), honest.size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dtnn
