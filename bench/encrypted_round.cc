// What an encrypted sum of a federation costs its clients and its aggregator, as a row of a table:
//
//   encrypted_round VALUES CLIENTS tenseal|openfhe
//
// The messages of one round, with the codecs and tags of a federation, on one thread, without a
// network: MB of a client up and down, with the parameters that it gets, processor seconds of a
// client and of the aggregator, and the largest error of a mean.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/federation/protection.h"
#include "comm/federation/protocol.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/sums/authenticated.h"
#include "tensor/must.h"

namespace dtnn::federation {
namespace {

// Adds the processor time that it lives to `seconds`.
class AddProcessorTime {
 public:
  explicit AddProcessorTime(double& seconds) : seconds_(seconds) {}
  ~AddProcessorTime() { seconds_ += double(std::clock() - begin_) / CLOCKS_PER_SEC; }
  AddProcessorTime(const AddProcessorTime&) = delete;
  AddProcessorTime& operator=(const AddProcessorTime&) = delete;

 private:
  double& seconds_;
  const std::clock_t begin_ = std::clock();
};

// Sums over all clients.
struct Costs {
  double client_seconds = 0, aggregator_seconds = 0;
  double up = 0, down = 0;  // bytes
  double error = 0;         // the largest, of a mean
};

class Round {
 public:
  Round(const ProtectionOptions& options, size_t values, int clients)
      : protector_(Must(Protector::Create(options, values))),
        facts_{.attempt = 1, .participants = clients, .chunks = protector_.chunks(values)},
        values_(values),
        server_(Must(MakeServerProtocol(protector_, facts_))) {
    const Secret key = Must(RandomSecret());
    for (int i = 0; i < clients; ++i) {
      clients_.push_back(Must(MakeClientProtocol(protector_, facts_, i, key)));
    }
  }

  Costs Run() {
    AgreeOnKeys();
    const Secret job = Must(RandomSecret());
    codec::UpdateServer server(Must(server_->MakeCodec()), job);
    std::vector<codec::UpdateClient> clients;
    for (int i = 0; i < facts_.participants; ++i) {
      clients.emplace_back(Must(clients_[size_t(i)]->MakeCodec()), i,
                           Must(codec::ClientTagKey(job, i)), Must(codec::ServerTagKey(job)));
    }
    const size_t most = protector_.chunk_values();
    for (size_t at = 0; at < values_; at += most) {
      AddChunk({.round = facts_.attempt, .chunk = uint32_t(at / most)},
               std::min(most, values_ - at), server, clients);
    }
    // Parameters that the aggregator can read it sends as numbers.
    if (protector_.readable()) costs_.down += 4.0 * double(values_) * facts_.participants;
    return costs_;
  }

 private:
  template <typename Body>
  static auto Time(double& seconds, Body body) {
    const AddProcessorTime timer(seconds);
    return Must(body());
  }

  void AgreeOnKeys() {
    std::vector<Bytes> replies;
    for (const auto& client : clients_) {
      replies.push_back(Time(costs_.client_seconds, [&] { return client->FirstReply(); }));
    }
    for (int note = 0; note < server_->setup_notes(); ++note) {
      for (size_t i = 0; i < clients_.size(); ++i) {
        const AddProcessorTime timer(costs_.aggregator_seconds);
        costs_.up += double(replies[i].size());
        Must(server_->TakeReply(note, int(i), replies[i]));
      }
      const auto notes = Time(costs_.aggregator_seconds, [&] { return server_->Note(note); });
      for (size_t i = 0; i < clients_.size(); ++i) {
        const Bytes& body = *notes.at(int(i));
        costs_.down += double(body.size());
        replies[i] = Time(costs_.client_seconds, [&] {
                       return clients_[i]->TakeNote(note, body);
                     }).value_or(Bytes());
      }
    }
  }

  void AddChunk(ChunkId id, size_t count, codec::UpdateServer& server,
                std::vector<codec::UpdateClient>& clients) {
    codec::UpdateSum sum = Must(server.NewSum(id, count));
    std::vector<double> wanted(count);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (size_t i = 0; i < clients.size(); ++i) {
      std::vector<float> values(count);
      for (float& x : values) x = uniform(random_);
      for (size_t k = 0; k < count; ++k) wanted[k] += double(values[k]);
      const Bytes message =
          Time(costs_.client_seconds, [&] { return clients[i].Encode(id, values); });
      costs_.up += double(message.size());
      const AddProcessorTime timer(costs_.aggregator_seconds);
      Must(sum.Add(int(i), message));
    }
    if (server.asks()) Ask(id, sum, clients);
    Compare(Read(id, count, sum, clients), wanted);
  }

  void Ask(ChunkId id, codec::UpdateSum& sum, std::vector<codec::UpdateClient>& clients) {
    const Bytes question = Time(costs_.aggregator_seconds, [&] { return sum.Question(); });
    for (size_t i = 0; i < clients.size(); ++i) {
      const Bytes answer =
          Time(costs_.client_seconds, [&] { return clients[i].Answer(id, question); });
      costs_.down += double(question.size());
      costs_.up += double(answer.size());
      const AddProcessorTime timer(costs_.aggregator_seconds);
      Must(sum.AddAnswer(int(i), answer));
    }
  }

  std::vector<float> Read(ChunkId id, size_t count, codec::UpdateSum& sum,
                          std::vector<codec::UpdateClient>& clients) {
    std::vector<float> read(count);
    if (protector_.readable()) {
      const AddProcessorTime timer(costs_.aggregator_seconds);
      Must(sum.Read(read));
      return read;
    }
    const Bytes result = Time(costs_.aggregator_seconds, [&] { return sum.Result(); });
    for (codec::UpdateClient& client : clients) {
      costs_.down += double(result.size());
      const AddProcessorTime timer(costs_.client_seconds);
      Must(client.Decode(id, result, read));
    }
    return read;
  }

  void Compare(const std::vector<float>& read, const std::vector<double>& wanted) {
    for (size_t k = 0; k < read.size(); ++k) {
      costs_.error =
          std::max(costs_.error, std::abs(double(read[k]) - wanted[k]) / facts_.participants);
    }
  }

  const Protector protector_;
  const SumFacts facts_;
  const size_t values_;
  const std::unique_ptr<ServerProtocol> server_;
  std::vector<std::unique_ptr<ClientProtocol>> clients_;
  std::mt19937_64 random_{1};
  Costs costs_;
};

int Run(int argc, char** argv) {
  const std::string scheme = argc == 4 ? argv[3] : "";
  if (scheme != "tenseal" && scheme != "openfhe") {
    std::fprintf(stderr, "usage: %s VALUES CLIENTS tenseal|openfhe\n", argv[0]);
    return 2;
  }
  const int clients = std::atoi(argv[2]);
  const Protection protection =
      scheme == "tenseal" ? Protection::kSharedKey : Protection::kThreshold;
  const Costs costs = Round({.protection = protection}, size_t(std::atoll(argv[1])), clients).Run();
  std::printf("| %s | %s | %d | %.1f | %.1f | %.2f | %.2f | %.1e |\n", argv[1], scheme.c_str(),
              clients, 1e-6 * costs.up / clients, 1e-6 * costs.down / clients,
              costs.client_seconds / clients, costs.aggregator_seconds / clients, costs.error);
  return 0;
}

}  // namespace
}  // namespace dtnn::federation

int main(int argc, char** argv) { return dtnn::federation::Run(argc, argv); }
