// How the models of the clients of one round become the next model. Pure functions of numbers.
//
// With x_k the parameters that client k sends, n_k its samples, and w the parameters of the round:
//
//   avg         mean of x_k, all clients alike
//   wavg        sum of n_k x_k / sum of n_k              McMahan et al., 2017: FedAvg
//   invwavg     weights (min + max - n_k) / their sum    as RankWeighting (comm/model_sync.h)
//   fedprox     as wavg; clients add mu (w_now - w) to their gradients   Li et al., 2020: FedProx
//   fednova     with tau_k the steps of client k and p_k = n_k / sum of n,
//               w - (sum of p_k tau_k) (sum of p_k (w - x_k) / tau_k)   Wang et al., 2020: FedNova
//   scaffold    w + rate (wavg - w); clients add c - c_k to their gradients, where c_k becomes
//               c_k - c + (w - x_k) / (the sum of the rates of its steps), and c changes by s times
//               the mean of what c_k have changed by, weighted as x_k are; s is the share of the
//               round's clients in all samples    Karimireddy et al., 2020: SCAFFOLD, option II
//   fedavgm     v = beta v + (w - wavg), w -= rate v     Hsu et al., 2019: FedAvgM
//   fedadam, fedyogi, fedadagrad: with d = wavg - w and m = beta1 m + (1 - beta1) d,
//               w += rate m / (sqrt(v) + tau)            Reddi et al., 2021, algorithm 2, where
//     fedadam     v = beta2 v + (1 - beta2) d^2          a mean of the last rounds' squares
//     fedyogi     v -= (1 - beta2) d^2 sign(v - d^2)     falls by (1 - beta2) d^2 at most
//     fedadagrad  v += d^2                               the sum of all: steps only get smaller
//
// m and v begin at 0, which Adam's correction of their bias makes up for (Kingma and Ba, 2015): the
// rate is divided by 1 - beta1^t, and, but for the sum of fedadagrad, multiplied with the root of
// 1 - beta2^t. fednova is the mean with weights n_k / tau_k, and a step of
// (sum of p_k tau_k) (sum of p_k / tau_k) towards it; its formula is that of plain SGD, where each
// step moves by its gradient. scaffold's formula is that of plain SGD too. The last six need the
// average itself, so they are not for sums that only clients can read. Running statistics (the
// numbers after the first `trainable`) are averages in all of them.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_STRATEGY_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_STRATEGY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "comm/federation/protection.h"
#include "comm/model_sync.h"

namespace dtnn::federation {

enum class Strategy : uint8_t {
  kAvg,
  kWavg,
  kInvwavg,
  kFedprox,
  kFednova,
  kScaffold,
  kFedavgm,
  kFedadam,
  kFedyogi,
  kFedadagrad
};

// "avg", ...; nothing for other words.
std::optional<Strategy> ParseStrategy(std::string_view name);
std::string_view Name(Strategy strategy);

struct StrategyOptions {
  Strategy strategy = Strategy::kWavg;
  double proximal = 0.01;       // mu of fedprox
  double learning_rate = 0;     // of fedavgm; of the adaptive ones; 0: 1 and 0.1
  double momentum = 0.9;        // beta of fedavgm, beta1 of the adaptive ones
  double second_moment = 0.99;  // beta2
  double adaptivity = 1e-3;     // tau, beside the root of the second moment

  // Whether numbers have steps of their own, by the squares of earlier differences.
  bool adaptive() const {
    return strategy == Strategy::kFedadam || strategy == Strategy::kFedyogi ||
           strategy == Strategy::kFedadagrad;
  }
  double rate() const {
    if (learning_rate > 0) return learning_rate;
    return adaptive() ? 0.1 : 1;
  }
  // Whether there are control variates: c of the aggregator, and one of each client.
  bool controls() const { return strategy == Strategy::kScaffold; }
  // Whether weights are divided by the steps of the clients (ClientFactors).
  bool by_steps() const { return strategy == Strategy::kFednova; }
  // The numbers that it keeps from round to round for each trainable one: Moments.
  int moments() const { return adaptive() ? 2 : strategy == Strategy::kFedavgm ? 1 : 0; }
  // Whether the aggregator must be able to read the average.
  bool reads_average() const {
    return strategy == Strategy::kFedavgm || by_steps() || adaptive() || controls();
  }
};

// InvalidArgument for numbers out of range.
absl::Status Validate(const StrategyOptions& options);
// InvalidArgument for control variates where updates have this protection, or parameters stay with
// clients.
absl::Status CheckControls(const StrategyOptions& options, const ProtectionOptions& protection,
                           bool keeps_parameters);

// By which clients' parameters are averaged: ClientFactors (comm/federation/factors.h).
RankWeighting WeightingOf(Strategy strategy);

// What the aggregator keeps from round to round beside the parameters; empty where it is not used.
struct Moments {
  std::vector<float> first;   // v of fedavgm, m of the adaptive ones
  std::vector<float> second;  // v of these
  int64_t updates = 0;
};

// What a client of the average has done in the round.
struct ClientWork {
  int64_t samples = 1, steps = 1;
};

// c after a round of clients with this share of all samples: it moves by their mean `change`.
void MoveControl(std::span<const float> change, double share, std::span<float> control);

// Turns `parameters` into those of the next round. `average`: of as many numbers; `works`: of its
// clients. The first call makes the moments.
void Follow(const StrategyOptions& options, std::span<const float> average, size_t trainable,
            std::span<const ClientWork> works, Moments& moments, std::span<float> parameters);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_STRATEGY_H_
