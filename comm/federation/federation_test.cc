// An aggregator and its clients, as threads over TCP: sums of all kinds of protection, and clients
// that are slow, die, come again, or send what they should not.

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/codec/plain_codec.h"
#include "comm/crypto/random_secret.h"
#include "comm/federation/aggregator.h"
#include "comm/federation/agreed.h"
#include "comm/federation/client.h"
#include "comm/tcp/plain_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

// More than one chunk of every codec, and a last one that is not full.
constexpr size_t kValues = 70001;
constexpr size_t kTrainable = 69000;

JobSecret Job() { return Must(JobSecret::Of(std::string(40, 's'))); }

ModelFacts Model() {
  ModelFacts model = {.values = kValues, .trainable = kTrainable};
  model.network[0] = 7;
  return model;
}

// What a client makes of parameters: something of its own.
std::vector<float> Trained(std::span<const float> parameters, int client) {
  std::vector<float> trained(parameters.begin(), parameters.end());
  for (size_t i = 0; i < trained.size(); ++i) {
    trained[i] = 0.5f * trained[i] + 0.25f * float(client + 1) * std::sin(float(i));
  }
  return trained;
}

int64_t SamplesOf(int client) { return 100 * (client + 1); }

class FederationTest : public ::testing::Test {
 protected:
  FederationTest() {
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    address_ = Must(listener.Local());
    options_ = {.address = address_,
                .listener = listener.Release(),
                .model = Model(),
                .strategy = {.strategy = Strategy::kWavg},
                .rounds = 3,
                .min_clients = 3,
                .deadline = std::chrono::seconds(60),
                .timeout = std::chrono::seconds(60),
                .say = [this](std::string_view line) { Note(line); },
                .warn = [this](std::string_view line) { Note(line); },
                .round_done =
                    [this](const RoundRecord& record, const FederationState&) {
                      records_.push_back(record);
                      return absl::OkStatus();
                    }};
    state_.parameters.assign(kValues, 1);
  }
  ~FederationTest() override {
    for (std::thread& thread : threads_) thread.join();
  }

  void Note(std::string_view line) {
    const std::lock_guard lock(mutex_);
    said_ += line;
    said_ += "\n";
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  ClientOptions OptionsOf(int client) {
    return {.server = address_,
            .name = "client-" + std::to_string(client),
            .model = Model(),
            .samples = SamplesOf(client),
            .protection = options_.protection,
            .key = options_.protection.protection == Protection::kSharedKey ? std::optional(key_)
                                                                            : std::nullopt,
            .timeout = std::chrono::seconds(60),
            .warn = [this, client](std::string_view line) {
              Note("client " + std::to_string(client) + ": " + std::string(line));
            }};
  }

  using Train = std::function<std::vector<float>(const RoundTask&, int client)>;

  // A client that follows the rules until the end, and checks what it gets there.
  void Start(int client, Train train = nullptr) {
    threads_.emplace_back([this, client, train] {
      const auto self = Must(FederationClient::Create(OptionsOf(client), Job()));
      while (true) {
        const absl::StatusOr<RoundTask> task = self->Next();
        ASSERT_EQ(task.status(), absl::OkStatus());
        if (task->over) {
          const std::lock_guard lock(mutex_);
          final_[client] = task->parameters;
          return;
        }
        const std::vector<float> trained =
            train ? train(*task, client) : Trained(task->parameters, client);
        const Report report = {
            .samples = SamplesOf(client),
            .seconds = 0.25,
            .metrics = {{"loss", double(client)}, {"own-" + OptionsOf(client).name, 1}}};
        ASSERT_EQ(self->Submit(trained, report), absl::OkStatus());
      }
    });
  }

  absl::Status Run() { return RunAggregator(options_, Job(), state_); }

  // What rounds of all these clients make of the first parameters.
  std::vector<double> Wanted(const std::vector<int>& clients, int64_t rounds) const {
    std::vector<double> w(kValues, 1);
    for (int64_t round = 0; round < rounds; ++round) {
      std::vector<double> sum(kValues);
      double samples = 0;
      for (const int client : clients) {
        const std::vector<float> now(w.begin(), w.end());
        const std::vector<float> trained = Trained(now, client);
        for (size_t i = 0; i < kValues; ++i) sum[i] += double(SamplesOf(client)) * trained[i];
        samples += double(SamplesOf(client));
      }
      for (size_t i = 0; i < kValues; ++i) w[i] = sum[i] / samples;
    }
    return w;
  }

  static double Distance(std::span<const float> got, const std::vector<double>& wanted) {
    double most = got.size() == wanted.size() ? 0 : INFINITY;
    for (size_t i = 0; i < wanted.size() && i < got.size(); ++i) {
      most = std::max(most, std::abs(got[i] - wanted[i]));
    }
    return most;
  }

  Endpoint address_;
  const Secret key_ = Must(RandomSecret());
  AggregatorOptions options_;
  FederationState state_;
  std::vector<RoundRecord> records_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::string said_;
  std::map<int, std::vector<float>> final_;
};

const char* NameOf(Protection protection) {
  constexpr const char* kNames[] = {"none", "masked", "tenseal", "openfhe"};
  return kNames[size_t(protection)];
}

class ProtectionTest : public FederationTest, public ::testing::WithParamInterface<Protection> {};

INSTANTIATE_TEST_SUITE_P(All, ProtectionTest,
                         ::testing::Values(Protection::kNone, Protection::kMasked,
                                           Protection::kSharedKey, Protection::kThreshold),
                         [](const auto& info) { return std::string(NameOf(info.param)); });

TEST_P(ProtectionTest, RoundsGiveTheWeightedMean) {
  options_.protection.protection = GetParam();
  for (int client = 0; client < 3; ++client) Start(client);
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const std::vector<double> wanted = Wanted({0, 1, 2}, 3);
  const double tolerance = GetParam() == Protection::kThreshold ? 1e-4 : 2e-5;
  ASSERT_EQ(final_.size(), 3u);
  for (const auto& [client, parameters] : final_) {
    EXPECT_LT(Distance(parameters, wanted), tolerance) << client;
    EXPECT_EQ(parameters, final_.begin()->second) << "all clients end alike";
  }
  ASSERT_EQ(records_.size(), 3u);
  const RoundRecord& last = records_.back();
  EXPECT_EQ(last.attempts, 1u) << said();
  EXPECT_EQ(last.samples, 600);
  // (0 * 100 + 1 * 200 + 2 * 300) / 600, and nothing of what not all have.
  ASSERT_EQ(last.metrics.size(), 1u);
  EXPECT_EQ(last.metrics[0].first, "loss");
  EXPECT_NEAR(last.metrics[0].second, 800.0 / 600, 1e-12);
  EXPECT_GT(last.bytes_received, 3 * 4 * kValues);
  if (GetParam() == Protection::kSharedKey) {
    EXPECT_TRUE(state_.parameters.empty()) << "the aggregator cannot read them";
    EXPECT_TRUE(state_.from.encrypted);
  } else {
    EXPECT_LT(Distance(state_.parameters, wanted), tolerance);
  }
}

// One of four dies in the second round, and its update is in no sum. Where keys need all clients
// the round is tried again without it.
TEST_P(ProtectionTest, ARoundGoesOnWithoutOneThatDies) {
  options_.protection.protection = GetParam();
  options_.rounds = 2;
  std::atomic<bool> came = false, left = false;
  options_.say = [&](std::string_view line) {
    Note(line);
    if (line.find("client-3 is there") != line.npos) came = true;
    if (line.find("client-3 has left") != line.npos) left = true;
  };
  const Train train = [&](const RoundTask& task, int client) {
    while (!(task.round == 1 ? came : left)) std::this_thread::yield();
    return Trained(task.parameters, client);
  };
  for (int client = 0; client < 3; ++client) Start(client, train);
  threads_.emplace_back([&] {
    while (said().find("client-2 is there") == std::string::npos ||
           said().find("client-1 is there") == std::string::npos ||
           said().find("client-0 is there") == std::string::npos) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    auto self = Must(FederationClient::Create(OptionsOf(3), Job()));
    EXPECT_EQ(Must(self->Next()).round, 2);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  ASSERT_EQ(records_.size(), 2u);
  const bool needs_all = GetParam() == Protection::kThreshold;
  EXPECT_EQ(records_[1].attempts, needs_all ? 2u : 1u) << said();
  EXPECT_THAT(said(), HasSubstr("round 2: client client-3 is left out: it is gone"));
  const double tolerance = needs_all ? 1e-4 : 2e-5;
  for (int client = 0; client < 3; ++client) {
    EXPECT_LT(Distance(final_[client], Wanted({0, 1, 2}, 2)), tolerance) << client;
  }
}

// A connection without the rules of FederationClient.
class RawClient {
 public:
  explicit RawClient(const Endpoint& server) {
    Socket socket = Must(StartConnecting(Must(Resolve(server)).front()));
    const JobSecret door = Must(Job().For(kHandshakePurpose));
    Greeting greeting = {.stream = PlainStream(std::move(socket)),
                         .address = server.ToString(),
                         .handshake = Must(Handshake::Connecting(door, kClientRank, kAggregatorRank,
                                                                 kHandshakeRanks, {})),
                         .end = std::chrono::steady_clock::now() + std::chrono::seconds(60)};
    while (!greeting.done()) {
      pollfd descriptor = {greeting.stream->descriptor(), greeting.events(), 0};
      poll(&descriptor, 1, 100);
      const absl::Status advanced = greeting.Advance();
      if (!absl::IsUnavailable(advanced)) Must(advanced);
    }
    channel_ = std::make_unique<Channel>(std::move(greeting.stream), greeting.address);
  }

  void Send(FrameKind kind, uint64_t attempt, uint32_t index, Bytes body) {
    channel_->Send(kind, attempt, index, std::move(body));
    while (!channel_->flushed() && channel_->Write().ok()) {
    }
  }
  // Whatever they are, at once.
  void SendBytes(const Bytes& bytes) {
    ASSERT_EQ(send(channel_->descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              ssize_t(bytes.size()));
  }
  void SendHello(const Hello& hello) { Send(FrameKind::kHello, 0, 0, ToBytes(hello)); }

  // The next frame of that kind; nothing where the connection ends before it.
  std::optional<Frame> Await(FrameKind kind) {
    while (true) {
      const auto any = [](const FrameHeader&) { return std::optional<size_t>(1 << 24); };
      absl::StatusOr<std::optional<Frame>> frame = channel_->Receive(any);
      if (!frame.ok()) return std::nullopt;
      if (*frame && (**frame).header.kind == FrameKind::kRound &&
          Must(RoundStartFromBytes((**frame).body)).over) {
        return std::nullopt;
      }
      if (*frame && (**frame).header.kind == kind) return *std::move(frame);
      if (*frame) continue;
      pollfd descriptor = {channel_->descriptor(), POLLIN, 0};
      poll(&descriptor, 1, 100);
    }
  }

 private:
  std::unique_ptr<Channel> channel_;
};

Hello GoodHello(const std::string& name) {
  return {.name = name, .model = Model(), .samples = 5, .protection = "no encryption"};
}

// Two good clients, and `bad`, which gets the first round's number and what it needs for tags.
struct BadRound {
  uint64_t attempt = 0;
  RoundStart start;
  Secret job;
};

class HostileTest : public FederationTest {
 protected:
  // Runs two rounds with two good clients and one that does `bad` when it is asked. The good ones
  // wait for `until` to be said.
  void RunWith(const std::string& until,
               const std::function<void(RawClient&, const BadRound&)>& bad) {
    options_.rounds = 2;
    options_.min_clients = 2;
    const Train train = [&](const RoundTask& task, int client) {
      while (said().find(task.round == 1 ? "bad-one is there" : until) == std::string::npos) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      return Trained(task.parameters, client);
    };
    Start(0, train);
    Start(1, train);
    threads_.emplace_back([&] {
      while (said().find("client-1 is there") == std::string::npos ||
             said().find("client-0 is there") == std::string::npos) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      RawClient raw(address_);
      raw.SendHello(GoodHello("bad-one"));
      const Welcome welcome = Must(WelcomeFromBytes(raw.Await(FrameKind::kWelcome)->body));
      const Frame begin = *raw.Await(FrameKind::kRound);
      bad(raw, {.attempt = begin.header.attempt,
                .start = Must(RoundStartFromBytes(begin.body)),
                .job = Must(Job().Derive(kTagPurpose, welcome.nonce))});
      raw.Await(FrameKind::kHello);  // which does not come: until all is over
    });
    options_.say = [this](std::string_view line) { Note(line); };
    ASSERT_EQ(Run(), absl::OkStatus()) << said();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    EXPECT_THAT(said(), HasSubstr(until));
    EXPECT_LT(Distance(state_.parameters, Wanted({0, 1}, 2)), 2e-5) << said();
  }

  // All chunks of an update of these numbers, without the checks of a codec's client.
  static void SendUpdate(RawClient& raw, const BadRound& round, std::vector<float> values,
                         size_t chunk_values = size_t{1} << 16) {
    for (size_t at = 0; at < values.size(); at += chunk_values) {
      const auto chunk = uint32_t(at / chunk_values);
      const size_t count = std::min(chunk_values, values.size() - at);
      raw.Send(FrameKind::kUpdate, round.attempt, chunk,
               Message(round, chunk, std::span(values).subspan(at, count)));
    }
    raw.Send(FrameKind::kReport, round.attempt, 0, ToBytes(Report{.samples = 5}));
  }

  // With a good tag, whatever the numbers are.
  class AnyNumbers : public codec::ClientCodec {
   public:
    explicit AnyNumbers(const codec::CodecDescription& description) : description_(description) {}
    const codec::CodecDescription& description() const override { return description_; }
    absl::StatusOr<Bytes> Encode(ChunkId, std::span<const float> values) override {
      const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
      return Bytes(bytes, bytes + values.size_bytes());
    }
    absl::Status Decode(ChunkId, std::span<const uint8_t>, std::span<float>) override {
      return absl::OkStatus();
    }

   private:
    const codec::CodecDescription description_;
  };

  static Bytes Message(const BadRound& round, uint32_t chunk, std::span<const float> values) {
    const int position = int(round.start.position);
    const auto plain = Must(codec::PlainClient(codec::WireType::kFloat32, size_t{1} << 16));
    codec::UpdateClient client(std::make_unique<AnyNumbers>(plain->description()), position,
                               Must(codec::ClientTagKey(round.job, position)),
                               Must(codec::ServerTagKey(round.job)));
    return Must(client.Encode({round.attempt, chunk}, values));
  }
};

TEST_F(HostileTest, NaNIsLeftOutAndNamed) {
  RunWith("round 2: client bad-one is left out: ", [](RawClient& raw, const BadRound& round) {
    std::vector<float> values(kValues, 1);
    values[kValues - 2] = NAN;
    SendUpdate(raw, round, values);
    const Verdict verdict = Must(VerdictFromBytes(raw.Await(FrameKind::kVerdict)->body));
    EXPECT_FALSE(verdict.accepted);
    EXPECT_THAT(verdict.text, HasSubstr("NaN"));
  });
}

TEST_F(HostileTest, ATooLargeUpdateIsLeftOutAndNamed) {
  options_.max_update_norm = 1000;  // those of the good ones have a norm of about 200
  RunWith("bad-one is left out: its update has the norm ",
          [](RawClient& raw, const BadRound& round) {
            SendUpdate(raw, round, std::vector<float>(kValues, 1e6));
          });
}

TEST_F(HostileTest, AChunkOfAnotherSizeIsLeftOutAndNamed) {
  RunWith("bad-one is left out: ", [](RawClient& raw, const BadRound& round) {
    raw.Send(FrameKind::kUpdate, round.attempt, 0,
             Message(round, 0, std::vector<float>(100, 1.0f)));
    raw.Send(FrameKind::kUpdate, round.attempt, 1,
             Message(round, 1, std::vector<float>(100, 1.0f)));
    raw.Send(FrameKind::kReport, round.attempt, 0, ToBytes(Report{.samples = 5}));
  });
}

TEST_F(HostileTest, AnUpdateThatEndsTooEarlyIsLeftOutAndNamed) {
  RunWith("bad-one is left out: sent 1 chunks of an update, expected 2",
          [](RawClient& raw, const BadRound& round) {
            SendUpdate(raw, round, std::vector<float>(100, 1));
          });
}

TEST_F(HostileTest, AnUpdateWithTheTagOfAnotherIsLeftOut) {
  RunWith("bad-one is left out: ", [](RawClient& raw, BadRound round) {
    round.start.position = (round.start.position + 1) % 3;
    SendUpdate(raw, round, std::vector<float>(kValues, 1));
  });
}

TEST_F(HostileTest, AReportThatLiesIsLeftOut) {
  RunWith("bad-one is left out: report: loss is nan", [](RawClient& raw, const BadRound& round) {
    std::vector<float> values(kValues, 1);
    for (uint32_t chunk = 0; chunk < 2; ++chunk) {
      const size_t at = chunk * (size_t{1} << 16);
      raw.Send(FrameKind::kUpdate, round.attempt, chunk,
               Message(round, chunk,
                       std::span(values).subspan(at, std::min(size_t{1} << 16, kValues - at))));
    }
    raw.Send(FrameKind::kReport, round.attempt, 0,
             ToBytes(Report{.samples = 5, .metrics = {{"loss", NAN}}}));
  });
}

// 4 GiB are announced: the connection ends before memory is taken for them.
TEST_F(HostileTest, ALengthBeyondTheLimitEndsTheConnection) {
  RunWith("client bad-one has left: a frame \"update\" of 4294967295 bytes",
          [](RawClient& raw, const BadRound& round) {
            Bytes header = ToBytes(FrameHeader{
                .kind = FrameKind::kUpdate, .bytes = 0xffffffff, .attempt = round.attempt});
            raw.SendBytes(header);
          });
}

TEST_F(HostileTest, AFrameThatNobodyAskedForEndsTheConnection) {
  RunWith("client bad-one has left: a frame \"answer\" that nobody asked for",
          [](RawClient& raw, const BadRound& round) {
            raw.Send(FrameKind::kAnswer, round.attempt, 0, Bytes(10));
          });
}

TEST_F(HostileTest, BytesThatAreNoFrameEndTheConnection) {
  RunWith("client bad-one has left: these bytes are no frame",
          [](RawClient& raw, const BadRound&) { raw.SendBytes(Bytes(100, 0xa5)); });
}

// It stops in the middle of its update; the round ends at the deadline without it.
TEST_F(HostileTest, OneThatStopsInTheMiddleIsWaitedForUntilTheDeadline) {
  options_.deadline = milliseconds(3000);
  RunWith("bad-one is there", [](RawClient& raw, const BadRound& round) {
    raw.Send(FrameKind::kUpdate, round.attempt, 0,
             Message(round, 0, std::vector<float>(size_t{1} << 16, 1.0f)));
  });
  EXPECT_THAT(said(), HasSubstr("client bad-one is left out: it had no update at the deadline"));
}

// Of what is refused before it takes part.
TEST_F(FederationTest, ClientsThatDoNotFitAreRefusedWithTheReason) {
  options_.rounds = 1;
  options_.min_clients = 1;
  std::atomic<bool> tried = false;
  threads_.emplace_back([&] {
    const auto refusal = [&](const Hello& hello) {
      RawClient raw(address_);
      raw.SendHello(hello);
      const std::optional<Frame> frame = raw.Await(FrameKind::kRefusal);
      return frame ? TextFromBytes(frame->body) : "no refusal";
    };
    Hello hello = GoodHello("client-9");
    hello.model.values = 3;
    EXPECT_EQ(refusal(hello), "its network has 3 numbers, the aggregator's 70001");
    hello = GoodHello("client-9");
    hello.model.network[3] = 1;
    EXPECT_THAT(refusal(hello), HasSubstr("its network differs"));
    hello = GoodHello("client-9");
    hello.protection = "masks";
    EXPECT_EQ(refusal(hello), "its updates have masks, this federation's no encryption");
    EXPECT_THAT(refusal(GoodHello("../../etc")), HasSubstr("a client's name is 1 to 64 letters"));
    hello = GoodHello("client-9");
    hello.samples = 0;
    EXPECT_THAT(refusal(hello), HasSubstr("0 samples"));
    tried = true;
  });
  Start(0, [&](const RoundTask& task, int client) {
    while (!tried) std::this_thread::yield();
    return Trained(task.parameters, client);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

TEST_F(FederationTest, AStrangerWithoutTheSecretIsRefused) {
  options_.rounds = 1;
  options_.min_clients = 1;
  std::atomic<bool> tried = false;
  threads_.emplace_back([&] {
    ClientOptions options = OptionsOf(8);
    const auto self =
        Must(FederationClient::Create(options, Must(JobSecret::Of(std::string(40, 'x')))));
    const absl::Status status = self->Next().status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    tried = true;
  });
  Start(0, [&](const RoundTask& task, int client) {
    while (!tried) std::this_thread::yield();
    return Trained(task.parameters, client);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
}

// Rounds 1 and 2 of one aggregator, then another one that goes on from its state.
TEST_P(ProtectionTest, AnotherAggregatorGoesOnFromTheState) {
  options_.protection.protection = GetParam();
  options_.rounds = 4;
  int rounds = 0;
  options_.interrupted = [&] { return rounds == 2; };
  options_.round_done = [&](const RoundRecord&, const FederationState&) {
    ++rounds;
    return absl::OkStatus();
  };
  for (int client = 0; client < 3; ++client) Start(client);
  const absl::Status status = Run();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(state_.rounds_done, 2);
  Socket listener = Must(Listen(address_));
  options_.listener = listener.Release();
  options_.interrupted = nullptr;
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  const double tolerance = GetParam() == Protection::kThreshold ? 1e-4 : 2e-5;
  for (const auto& [client, parameters] : final_) {
    EXPECT_LT(Distance(parameters, Wanted({0, 1, 2}, 4)), tolerance) << client;
  }
  EXPECT_THAT(said(), HasSubstr("lost the aggregator"));
}

// Client 1 is slower than the deadline of every second round; what it sends then counts nowhere.
TEST_F(FederationTest, LateUpdatesAreDroppedWithALine) {
  options_.rounds = 3;
  options_.min_clients = 1;
  options_.deadline = milliseconds(2000);
  std::atomic<bool> there = false, dropped = false;
  options_.warn = [&](std::string_view line) {
    Note(line);
    if (line.find("came after its round was over") != line.npos) dropped = true;
  };
  options_.say = [&](std::string_view line) {
    Note(line);
    if (line.find("client-1 is there") != line.npos) there = true;
  };
  Start(0, [&](const RoundTask& task, int client) {
    if (task.round == 1) {
      while (!there) std::this_thread::yield();
    }
    if (task.round == 3) {
      while (!dropped) std::this_thread::yield();
    }
    return Trained(task.parameters, client);
  });
  Start(1, [&](const RoundTask& task, int client) {
    if (task.round == 2) {
      while (said().find("client-1 is left out: it had no update at the deadline") ==
             std::string::npos) {
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
    return Trained(task.parameters, client);
  });
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  EXPECT_TRUE(dropped);
  ASSERT_EQ(records_.size(), 3u);
  EXPECT_EQ(records_[1].samples, SamplesOf(0)) << "of client 0 alone";
}

TEST_F(FederationTest, AFractionOfTheClientsIsAskedAndAllInTime) {
  options_.rounds = 12;
  options_.min_clients = 2;
  options_.client_fraction = 0.5;
  std::atomic<int> there = 0;
  options_.say = [&](std::string_view line) {
    Note(line);
    there += line.find(" is there,") != line.npos ? 1 : 0;
  };
  for (int client = 0; client < 4; ++client) {
    Start(client, [&](const RoundTask& task, int self) {
      while (there < 4) std::this_thread::yield();
      return Trained(task.parameters, self);
    });
  }
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  std::map<std::string, int> asked;
  for (const RoundRecord& record : records_) {
    EXPECT_EQ(record.clients.size(), 2u);
    for (const Asked& client : record.clients) ++asked[client.name];
  }
  EXPECT_EQ(asked.size(), 4u) << "in 12 rounds everybody has a turn";
}

// Clients that come and go at random; every round's sum is that of those who were in it.
TEST_F(FederationTest, ClientsThatComeAndGoAtRandomMoments) {
  options_.rounds = 25;
  options_.min_clients = 2;
  options_.protection.protection = Protection::kMasked;
  options_.deadline = std::chrono::seconds(20);
  std::atomic<bool> over = false;
  options_.round_done = [&](const RoundRecord& record, const FederationState& state) {
    records_.push_back(record);
    // What clients send is their number, so the mean says who was in the sum.
    double sum = 0, factors = 0;
    for (const Asked& asked : record.clients) {
      if (asked.state != Asked::State::kAccepted) continue;
      const int client = asked.name.back() - '0';
      sum += asked.factor * (client + 1);
      factors += asked.factor;
    }
    EXPECT_NEAR(state.parameters[3], sum / factors, 1e-5) << "round " << record.round;
    EXPECT_NEAR(state.parameters[kValues - 1], sum / factors, 1e-5);
    over = record.round == options_.rounds;
    return absl::OkStatus();
  };
  std::atomic<int> deaths = 0;
  for (int client = 0; client < 4; ++client) {
    threads_.emplace_back([&, client] {
      std::mt19937_64 random(uint64_t(client) + 1);
      bool ended = false;
      while (!ended && !over) {
        ClientOptions own = OptionsOf(client);
        own.timeout = std::chrono::seconds(5);  // where it comes when all is over
        const auto self = Must(FederationClient::Create(own, Job()));
        // Lives for some rounds, and dies before, in or after its training.
        for (int lives = int(random() % 4); lives >= 0 && !ended; --lives) {
          const absl::StatusOr<RoundTask> task = self->Next();
          if (!task.ok() || task->over) {
            ended = true;
            break;
          }
          if (lives == 0 && random() % 2 == 0) break;  // dies with the round on it
          const std::vector<float> mine(kValues, float(client + 1));
          EXPECT_EQ(self->Submit(mine, {.samples = 1}), absl::OkStatus());
        }
        deaths += ended ? 0 : 1;
      }
    });
  }
  // All that are left when it ends.
  ASSERT_EQ(Run(), absl::OkStatus()) << said();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  EXPECT_EQ(records_.size(), 25u);
  EXPECT_GT(deaths, 5);
}

TEST_F(FederationTest, OptionsThatMakeNoSenseAreRefused) {
  const auto refused = [&](const std::function<void(AggregatorOptions&)>& change) {
    AggregatorOptions options = options_;
    options.listener = -1;
    change(options);
    const absl::Status status = RunAggregator(options, Job(), state_);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  refused([](AggregatorOptions& o) { o.min_clients = 0; });
  refused([](AggregatorOptions& o) { o.client_fraction = 0; });
  refused([](AggregatorOptions& o) { o.model.values = 5; });
  refused([](AggregatorOptions& o) {
    o.protection.protection = Protection::kMasked;
    o.min_clients = 1;
  });
  EXPECT_THAT(refused([](AggregatorOptions& o) {
                o.protection.protection = Protection::kSharedKey;
                o.strategy.strategy = Strategy::kFedadam;
              }),
              HasSubstr("strategy fedadam needs the average"));
  EXPECT_THAT(refused([](AggregatorOptions& o) {
                o.protection.protection = Protection::kMasked;
                o.max_update_norm = 1;
              }),
              HasSubstr("norms of updates cannot be limited"));
  EXPECT_THAT(refused([](AggregatorOptions& o) {
                o.protection = {.protection = Protection::kThreshold, .log2_scale = 40};
              }),
              HasSubstr("scale"));
}

}  // namespace
}  // namespace dtnn::federation
