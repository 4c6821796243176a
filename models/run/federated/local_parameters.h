// The parameters that stay with clients of a federation (exchanged_parameters.h), in memory, from
// the round in which each is first asked.
//
// An attempt at a round that fails is tried again from the parameters before it, perhaps by others:
// what a client has made of them counts when its update is in the sum of a round. Memory: twice the
// numbers that stay, for each client that was asked.

#ifndef DTNN_MODELS_RUN_FEDERATED_LOCAL_PARAMETERS_H_
#define DTNN_MODELS_RUN_FEDERATED_LOCAL_PARAMETERS_H_

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace dtnn {

class LocalParameters {
 public:
  // `initial`: with which every client begins.
  LocalParameters(size_t clients, std::vector<float> initial)
      : initial_(std::move(initial)), of_client_(clients) {}

  size_t size() const { return initial_.size(); }

  // Those that the client begins a round with. Threads may call it, and Keep, for different
  // clients.
  std::span<const float> Begin(int client) const {
    const OfClient& own = of_client_[size_t(client)];
    return own.before.empty() ? initial_ : own.before;
  }
  // What it has made of them in an attempt.
  void Keep(int client, std::vector<float> trained) {
    of_client_[size_t(client)].after = std::move(trained);
  }
  std::span<const float> Trained(int client) const { return of_client_[size_t(client)].after; }
  size_t clients() const { return of_client_.size(); }
  // Whether it begins with others than the initial ones.
  bool HasOwn(int client) const { return !of_client_[size_t(client)].before.empty(); }
  // The round is done, with the client's update of the last attempt.
  void Accept(int client) {
    OfClient& own = of_client_[size_t(client)];
    if (!own.after.empty()) own.before = std::exchange(own.after, {});
  }

 private:
  struct OfClient {
    std::vector<float> before, after;
  };

  const std::vector<float> initial_;
  std::vector<OfClient> of_client_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_LOCAL_PARAMETERS_H_
