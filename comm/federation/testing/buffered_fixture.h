// What the tests of rounds that do not wait share: an aggregator with a buffer, and clients whose
// change is a constant, so that each round can be checked by hand.

#ifndef DTNN_COMM_FEDERATION_TESTING_BUFFERED_FIXTURE_H_
#define DTNN_COMM_FEDERATION_TESTING_BUFFERED_FIXTURE_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/federation/aggregator/buffer/update_buffer.h"
#include "comm/federation/testing/federation_fixture.h"
#include "comm/transport/tcp/socket.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn::federation {

// Adds client + 1 to what is trained; its running statistics are client + 1.
inline std::vector<float> Moved(std::span<const float> parameters, int client) {
  std::vector<float> moved(parameters.begin(), parameters.end());
  for (size_t i = 0; i < kTrainable; ++i) moved[i] += float(client + 1);
  std::fill(moved.begin() + kTrainable, moved.end(), float(client + 1));
  return moved;
}

template <typename Fixture>
class NotingTest : public Fixture {
 protected:
  // ClientOptions::verdict that notes that the update of this client is used.
  auto NoteUsed(int client) {
    return [this, client](const AttemptId&, bool used) {
      if (used) this->Note("client-" + std::to_string(client) + " is used");
      return absl::OkStatus();
    };
  }
};

class BufferedTest : public NotingTest<FederationTest> {
 protected:
  BufferedTest() {
    options_.buffer.size = 2;
    options_.min_clients = 2;
    options_.round_done = [this](const RoundRecord& record, const FederationState& state) {
      CheckRound(record, state);
      records_.push_back(record);
      rounds_ = record.round;
      return absl::OkStatus();
    };
  }

  static Train Move() {
    return [](const RoundTask& task, int client) { return Moved(task.parameters, client); };
  }

  // Trains when all of these are there, so that none comes after the end.
  Train When(const std::vector<int>& clients, Train train) {
    return [this, clients, train = std::move(train)](const RoundTask& task, int client) {
      for (const int other : clients) AwaitSaid("client-" + std::to_string(other) + " is there");
      return train(task, client);
    };
  }

  // That the parameters are what the clients of the record, which train by Moved, make of the last
  // ones.
  void CheckRound(const RoundRecord& record, const FederationState& state) {
    const bool constant = options_.buffer.weight == StalenessWeight::kConstant;
    const bool by_steps = options_.strategy.by_steps();
    double weight = 0, stale = 0, sum = 0, staleness = 0, samples = 0, steps = 0;
    int accepted = 0;
    for (const Asked& asked : record.clients) {
      if (asked.state != Asked::State::kAccepted) continue;
      const int client = asked.name.back() - '0';
      const auto n = double(SamplesOf(client)), tau = double(StepsOf(client));
      const double p = by_steps ? n / tau : n;
      const double a = constant ? p : p / std::sqrt(1 + double(asked.staleness));
      samples += n;
      steps += n * tau;
      weight += p;
      stale += a;
      sum += a * (client + 1);
      staleness += double(asked.staleness);
      EXPECT_LE(asked.staleness, options_.buffer.max_staleness);
      ++accepted;
    }
    EXPECT_EQ(accepted, options_.buffer.size) << "round " << record.round;
    last_ += sum / weight * (by_steps ? steps / samples * (weight / samples) : 1);
    EXPECT_NEAR(state.parameters[3], last_, 1e-4) << "round " << record.round;
    EXPECT_NEAR(state.parameters[kValues - 1], sum / stale, 1e-5);
    ASSERT_TRUE(record.buffer);
    EXPECT_NEAR(record.buffer->staleness, staleness / accepted, 1e-12);
  }

  // Notes when an update of that client is used.
  void NoteVerdicts(int of) {
    tune_ = [this, of](int client, ClientOptions& options) {
      if (client == of) options.verdict = NoteUsed(client);
    };
  }
  void ListenAgain() {
    if (!place_.datagrams) options_.place.listener = Must(Listen(place_.address)).Release();
  }
  void AwaitRound(int64_t round) {
    while (rounds_ < round) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int64_t MostStalenessOf(const std::string& name) const {
    int64_t most = -1;
    for (const RoundRecord& record : records_) {
      for (const Asked& asked : record.clients) {
        const bool used = asked.name == name && asked.state == Asked::State::kAccepted;
        if (used) most = std::max(most, asked.staleness);
      }
    }
    return most;
  }

  double last_ = 1;  // what is trained
  std::atomic<int64_t> rounds_ = 0;
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_TESTING_BUFFERED_FIXTURE_H_
