#include "comm/tcp/reception.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/make_room.h"
#include "comm/tcp/handshake.h"
#include "comm/tcp/plain_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::MatchesRegex;

constexpr size_t kPlaces = 128, kPerTurn = 8;

// Says of each attempt to read which connection it is of.
class WatchedStream : public Stream {
 public:
  WatchedStream(Socket socket, std::function<void(int)> heard)
      : stream_(PlainStream(std::move(socket))), heard_(std::move(heard)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    heard_(descriptor());
    return stream_->Read(into);
  }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    return stream_->Write(from);
  }
  void CloseWriting() override { stream_->CloseWriting(); }
  int descriptor() const override { return stream_->descriptor(); }

 private:
  const std::unique_ptr<Stream> stream_;
  const std::function<void(int)> heard_;
};

using Clock = Reception::Clock;
using std::chrono::milliseconds;

const JobSecret kSecret = Must(JobSecret::Of(std::string(40, 'a')));

class ReceptionTest : public ::testing::Test {
 protected:
  ReceptionTest() { Await(2); }

  // Of rank 0 of so many, where all others are awaited.
  void Await(int size) {
    Socket listener = Must(Listen({"127.0.0.1", 0}));
    address_ = Must(listener.Local());
    std::set<int> others;
    for (int rank = 1; rank < size; ++rank) others.insert(rank);
    const StreamMaker maker = [this](Socket socket, const std::string&) -> std::unique_ptr<Stream> {
      return std::make_unique<WatchedStream>(std::move(socket),
                                             [this](int descriptor) { heard_.insert(descriptor); });
    };
    reception_ = std::make_unique<Reception>(kSecret, 0, size, maker, std::move(listener), others);
  }

  // From that address of this host.
  Socket Connect(const char* from = "127.0.0.1") const {
    Socket caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    EXPECT_EQ(bind(caller.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(address_.port);
    EXPECT_EQ(connect(caller.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
    fcntl(caller.descriptor(), F_SETFL, O_NONBLOCK);
    return caller;
  }

  // What poll reports now, then one turn, at a time that this test counts. Returns how many places
  // are taken after it.
  size_t Turn(milliseconds later = milliseconds(1)) {
    now_ += later;
    std::vector<pollfd> descriptors;
    reception_->AddTo(descriptors);
    poll(descriptors.data(), descriptors.size(), 0);
    EXPECT_TRUE(reception_->Advance(descriptors, now_).ok());
    descriptors.clear();
    reception_->AddTo(descriptors);
    return descriptors.size() - 1;
  }
  void FillAllPlaces() {
    while (strangers_.size() < kPlaces) strangers_.push_back(Connect());
    while (Turn(milliseconds(0)) < kPlaces) {
    }
    heard_.clear();
  }
  static bool IsClosed(const Socket& socket) {
    char byte = 0;
    return recv(socket.descriptor(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
  }

  Clock::time_point now_ = Clock::time_point() + std::chrono::hours(1);
  Endpoint address_;
  std::set<int> heard_;  // descriptors
  std::unique_ptr<Reception> reception_;
  std::vector<Socket> strangers_;
};

TEST_F(ReceptionTest, WhoIsSilentCostsNothing) {
  FillAllPlaces();
  for (int turn = 0; turn < 10; ++turn) Turn();
  EXPECT_EQ(heard_.size(), 0u);
  ASSERT_EQ(send(strangers_[77].descriptor(), "D", 1, MSG_NOSIGNAL), 1);
  while (heard_.empty()) Turn();
  EXPECT_EQ(heard_.size(), 1u);
}

TEST_F(ReceptionTest, ATurnHearsAFewAndAllHaveTheirTurn) {
  FillAllPlaces();
  for (const Socket& stranger : strangers_) {
    ASSERT_EQ(send(stranger.descriptor(), "D", 1, MSG_NOSIGNAL), 1);
  }
  std::set<int> all;
  while (all.size() < kPlaces) {
    heard_.clear();
    Turn();
    EXPECT_LE(heard_.size(), kPerTurn);
    all.insert(heard_.begin(), heard_.end());
    // Who was heard says more at once.
    for (const Socket& stranger : strangers_) {
      (void)!send(stranger.descriptor(), "D", 1, MSG_NOSIGNAL);
    }
  }
}

TEST_F(ReceptionTest, TellsWhatHappenedToAConnectionAndWhatIsWrongWithACaller) {
  {
    const Socket gone = Connect();
    while (Turn() < 1) {
    }
  }
  while (reception_->refused().empty()) Turn();
  EXPECT_THAT(reception_->refused(),
              MatchesRegex("127\\.0\\.0\\.1:[0-9]+: closed by the other side"));
  const std::string before = reception_->refused();
  const Socket wrong = Connect();
  const std::string text(200, 'G');
  ASSERT_EQ(send(wrong.descriptor(), text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
  while (reception_->refused() == before) Turn();
  EXPECT_THAT(reception_->refused(), MatchesRegex("127\\.0\\.0\\.1:[0-9]+, which .*"));
}

TEST_F(ReceptionTest, ManyOfOneAddressDoNotPushOutAnother) {
  const Socket first = Connect("127.0.0.2");
  while (Turn() < 1) {
  }
  for (size_t i = 0; i < kPlaces + 20; ++i) {
    strangers_.push_back(Connect());
    Turn(i + 1 == kPlaces ? kSilence : milliseconds(1));
  }
  for (int turn = 0; turn < 1000 && std::ranges::count_if(strangers_, IsClosed) < 21; ++turn)
    Turn();
  EXPECT_EQ(std::ranges::count_if(strangers_, IsClosed), 21);
  EXPECT_FALSE(IsClosed(first));
  EXPECT_EQ(Turn(), kPlaces);
}

TEST_F(ReceptionTest, NewcomersDoNotPushOutThoseThatHaveJustCome) {
  FillAllPlaces();
  const Socket late = Connect();
  for (int turn = 0; turn < 1000 && !IsClosed(late); ++turn) Turn(milliseconds(0));
  EXPECT_TRUE(IsClosed(late));
  EXPECT_EQ(Turn(), kPlaces);
  for (const Socket& stranger : strangers_) EXPECT_FALSE(IsClosed(stranger));
}

Greeting Greet(Socket socket, const JobSecret& secret, int rank, int size) {
  return {.stream = PlainStream(std::move(socket)),
          .address = "",
          .handshake = Must(Handshake::Connecting(secret, rank, 0, size, {})),
          .end = {}};
}

// A rank that calls again and again until it is taken in. Each of its messages needs a round trip.
class Caller {
 public:
  static constexpr milliseconds kRoundTrip{20}, kPause{100};

  Caller(int rank, int size, std::function<Socket()> connect)
      : rank_(rank), size_(size), connect_(std::move(connect)) {}

  bool done() const { return greeting_ && greeting_->done(); }
  void Turn(Clock::time_point now) {
    if (done() || now < next_) return;
    next_ = now + kRoundTrip;
    if (!greeting_) {
      greeting_ = std::make_unique<Greeting>(Greet(connect_(), kSecret, rank_, size_));
    }
    if (greeting_->Advance().ok()) return;
    greeting_ = nullptr;
    next_ = now + kPause;
  }

 private:
  const int rank_, size_;
  const std::function<Socket()> connect_;
  Clock::time_point next_{};
  std::unique_ptr<Greeting> greeting_;
};

// As many as a turn hears come before each turn.
TEST_F(ReceptionTest, WhoIsHalfwayIsHeardBeforeThoseThatCome) {
  const JobSecret other = Must(JobSecret::Of(std::string(40, 'x')));
  Greeting rank = Greet(Connect(), kSecret, 1, 2);
  std::list<Greeting> hostile;
  for (size_t turn = 0; turn < kPlaces / kPerTurn - 2; ++turn) {
    for (size_t i = 0; i < kPerTurn; ++i) {
      ASSERT_TRUE(hostile.emplace_back(Greet(Connect(), other, 1, 2)).Advance().ok());
    }
    ASSERT_TRUE(rank.Advance().ok());
    Turn();
  }
  EXPECT_TRUE(reception_->awaited().empty());
}

// Eight hellos in each millisecond, which need no secret, from the address of one of the ranks.
TEST_F(ReceptionTest, HellosWithoutEndKeepNoRankOut) {
  constexpr int kSize = 3;
  Await(kSize);
  const std::string hello =
      Must(Handshake::Connecting(Must(JobSecret::Of(std::string(40, 'x'))), 1, 0, kSize, {}))
          .TakeOutput();
  Caller near(1, kSize, [this] { return Connect("127.0.0.1"); });
  Caller far(2, kSize, [this] { return Connect("127.0.0.2"); });
  std::list<Socket> hostile;
  const Clock::time_point begin = now_;
  const auto attack = [&] {
    for (size_t i = 0; i < kPerTurn; ++i) {
      hostile.push_back(Connect());
      (void)!send(hostile.back().descriptor(), hello.data(), hello.size(), MSG_NOSIGNAL);
    }
    Turn();
    hostile.remove_if(IsClosed);
  };
  for (int i = 0; i < 500; ++i) attack();  // before any rank calls
  while (!far.done() && now_ < begin + std::chrono::seconds(5)) {
    far.Turn(now_);
    attack();
  }
  EXPECT_TRUE(far.done());
  while (!near.done() && now_ < begin + std::chrono::seconds(60)) {
    near.Turn(now_);
    attack();
  }
  EXPECT_TRUE(near.done());
  EXPECT_TRUE(reception_->awaited().empty());
}

// More than have a place, all at once.
TEST_F(ReceptionTest, ManyRanksDoNotKeepEachOtherOut) {
  constexpr int kSize = 1 + 3 * int(kPlaces);
  Await(kSize);
  std::list<Caller> callers;
  for (int rank = 1; rank < kSize; ++rank) {
    callers.emplace_back(rank, kSize, [this] { return Connect(); });
  }
  const Clock::time_point begin = now_;
  while (!reception_->awaited().empty() && now_ < begin + std::chrono::seconds(10)) {
    for (Caller& caller : callers) caller.Turn(now_);
    Turn();
  }
  EXPECT_TRUE(reception_->awaited().empty()) << reception_->awaited().size() << " are missing";
}

}  // namespace
}  // namespace dtnn
