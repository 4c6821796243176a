// What the tests of federations share: an aggregator in the test's thread, clients as threads that
// follow the rules, and one that need not.

#ifndef DTNN_COMM_FEDERATION_TESTING_FEDERATION_FIXTURE_H_
#define DTNN_COMM_FEDERATION_TESTING_FEDERATION_FIXTURE_H_

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
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/aggregator.h"
#include "comm/federation/agreed.h"
#include "comm/federation/client/client.h"
#include "comm/federation/meeting.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/sums/plain_codec.h"
#include "comm/transport/tcp/socket.h"
#include "comm/wait.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {

// More than one chunk of every codec, and a last one that is not full.
inline constexpr size_t kValues = 70001;
inline constexpr size_t kTrainable = 69000;

inline JobSecret Job() { return Must(JobSecret::Of(std::string(40, 's'))); }

inline ModelFacts Model() {
  ModelFacts model = {.values = kValues, .trainable = kTrainable};
  model.network[0] = 7;
  return model;
}

// What a client makes of parameters: something of its own.
inline std::vector<float> Trained(std::span<const float> parameters, int client) {
  std::vector<float> trained(parameters.begin(), parameters.end());
  for (size_t i = 0; i < trained.size(); ++i) {
    trained[i] = 0.5f * trained[i] + 0.25f * float(client + 1) * std::sin(float(i));
  }
  return trained;
}

inline int64_t SamplesOf(int client) { return 100 * (client + 1); }
inline int64_t StepsOf(int client) { return 1 + 2 * (client % 3); }

// Where aggregator and clients of each test meet: set by a test's main; nothing: over TCP.
inline std::function<MeetingPlace()>& PlaceUnderTest() {
  static std::function<MeetingPlace()> place;
  return place;
}

class FederationTest : public ::testing::Test {
 protected:
  FederationTest() {
    if (PlaceUnderTest()) {
      place_ = PlaceUnderTest()();
    } else {
      Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
      place_.address = Must(listener.Local());
      listener_ = listener.Release();
    }
    options_ = {.place = place_,
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
    options_.place.listener = listener_;
    state_.parameters.assign(kValues, 1);
  }
  ~FederationTest() override { JoinAll(); }

  void Note(std::string_view line) {
    const std::lock_guard lock(mutex_);
    said_ += line;
    said_ += "\n";
  }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  // Until somebody has said that.
  void AwaitSaid(const std::string& text) {
    while (said().find(text) == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  ClientOptions OptionsOf(int client) {
    ClientOptions options = PlainOptionsOf(client);
    if (tune_) tune_(client, options);
    return options;
  }

  ClientOptions PlainOptionsOf(int client) {
    return {.place = place_,
            .name = "client-" + std::to_string(client),
            .model = Model(),
            .samples = SamplesOf(client),
            .steps = StepsOf(client),
            .protection = options_.protection,
            .key = options_.protection.protection == Protection::kSharedKey ? std::optional(key_)
                                                                            : std::nullopt,
            .timeout = std::chrono::seconds(60),
            .warn = [this, client](std::string_view line) {
              Note("client " + std::to_string(client) + ": " + std::string(line));
            }};
  }

  using Train = std::function<std::vector<float>(const RoundTask&, int client)>;

  // A client that follows the rules until the end, and checks what it gets there. It comes once
  // `after` was said.
  void Start(int client, Train train = nullptr, const std::string& after = "") {
    threads_.emplace_back([this, client, train, after] {
      AwaitSaid(after);
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
        Report report = {
            .samples = SamplesOf(client), .seconds = 0.25, .metrics = {{"loss", double(client)}}};
        if (options_.protection.protection == Protection::kNone) {
          report.metrics.emplace_back("own-" + OptionsOf(client).name, 1);
        }
        ASSERT_EQ(self->Submit(trained, report), absl::OkStatus());
      }
    });
  }

  absl::Status Run() { return RunAggregator(options_, Job(), state_); }
  // What is wrong with these options.
  std::string WhyRefused(const std::function<void(AggregatorOptions&)>& change) {
    AggregatorOptions options = options_;
    options.place.listener = -1;
    change(options);
    const absl::Status status = RunAggregator(options, Job(), state_);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }
  void JoinAll() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

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

  MeetingPlace place_;
  int listener_ = -1;
  const Secret key_ = Must(RandomSecret());
  AggregatorOptions options_;
  FederationState state_;
  std::vector<RoundRecord> records_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::string said_;
  std::map<int, std::vector<float>> final_;
  std::function<void(int client, ClientOptions& options)> tune_;  // of all clients
};

// A connection without the rules of FederationClient.
class RawClient {
 public:
  explicit RawClient(const MeetingPlace& place) {
    Wait wait({.timeout = std::chrono::seconds(60)});
    absl::StatusOr<Link> link = absl::UnavailableError("not yet");
    while (absl::IsUnavailable(link.status())) link = CallAggregator(place, Job(), wait);
    stream_ = Must(std::move(link)).stream.release();
    channel_ = std::make_unique<Channel>(std::unique_ptr<Stream>(stream_), "the aggregator");
  }

  void Send(FrameKind kind, uint64_t attempt, uint32_t index, Bytes body) {
    channel_->Send(kind, attempt, index, std::move(body));
    while (!channel_->flushed() && channel_->Write().ok()) {
    }
  }
  // Whatever they are, at once.
  void SendBytes(const Bytes& bytes) {
    const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
    ASSERT_EQ(Must(stream_->Write({&all, 1})), bytes.size());
  }
  // The connection breaks, where there is one, instead of ending.
  void Reset() {
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(channel_->descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    channel_.reset();
  }
  void SendHello(const Hello& hello) { Send(FrameKind::kHello, 0, 0, ToBytes(hello)); }

  // The next frame of that kind; nothing where the connection, or the run, ends before it.
  std::optional<Frame> Await(FrameKind kind) {
    while (std::optional<Frame> frame = Next()) {
      if (frame->header.kind == kind) return frame;
    }
    return std::nullopt;
  }
  // The same; nothing also where another round begins before it, which the next Await gives.
  std::optional<Frame> AwaitInRound(FrameKind kind) {
    while (std::optional<Frame> frame = Next()) {
      if (frame->header.kind == kind) return frame;
      if (frame->header.kind != FrameKind::kRound) continue;
      held_ = std::move(frame);
      break;
    }
    return std::nullopt;
  }

  std::optional<Frame> Next() {
    if (held_) return std::exchange(held_, std::nullopt);
    while (!over_) {
      const auto any = [](const FrameHeader&) { return std::optional<size_t>(1 << 24); };
      absl::StatusOr<std::optional<Frame>> frame = channel_->Receive(any);
      if (!frame.ok()) return std::nullopt;
      over_ = *frame && (**frame).header.kind == FrameKind::kRound &&
              Must(RoundStartFromBytes((**frame).body)).over;
      if (over_) break;
      if (*frame) return *std::move(frame);
      pollfd descriptor = {channel_->descriptor(), POLLIN, 0};
      poll(&descriptor, 1, 100);
    }
    return std::nullopt;
  }

 private:
  std::optional<Frame> held_;
  bool over_ = false;         // the run: it has said so
  Stream* stream_ = nullptr;  // of the channel
  std::unique_ptr<Channel> channel_;
};

inline Hello GoodHello(const std::string& name, const ProtectionOptions& protection = {}) {
  return {.name = name,
          .model = Model(),
          .samples = 5,
          .protection = Must(Protector::Create(protection, kValues)).ToString()};
}

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_TESTING_FEDERATION_FIXTURE_H_
