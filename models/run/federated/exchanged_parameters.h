// Which numbers of a network the clients of a federation exchange: all that training changes, but
// for the parameters that stay with each client.
//
// With the normalisation of a client's own data kept there, clients whose inputs differ (another
// scanner, another camera) learn the rest together: Li et al., "FedBN", 2021. With the last layers,
// each has answers of its own: Arivazhagan et al., "Federated learning with personalization
// layers", 2019.

#ifndef DTNN_MODELS_RUN_FEDERATED_EXCHANGED_PARAMETERS_H_
#define DTNN_MODELS_RUN_FEDERATED_EXCHANGED_PARAMETERS_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/graph/graph.h"
#include "models/parameters/parameter_store.h"

namespace dtnn {

class ExchangedParameters {
 public:
  // `local`: patterns (*, ?, [0-9]), separated by commas, of the keys of parameters that stay with
  // the client, "12_BatchNormalization_gamma" (Graph::WeightKey); empty: none. InvalidArgument for
  // commas without a pattern, a pattern that matches no parameter that training changes, and where
  // no trainable one would be exchanged.
  static absl::StatusOr<ExchangedParameters> Create(const Graph& graph, const ParameterStore& store,
                                                    std::string_view local);

  // Numbers that are exchanged; the first of them, which are trainable, before running statistics;
  // and those that stay.
  size_t values() const { return values_; }
  size_t trainable() const { return trainable_; }
  size_t local_values() const { return local_values_; }
  // Which parameters stay; the same text whatever patterns say so. Empty: none.
  std::string LocalText() const;

  // The numbers of a store that are exchanged, or that stay, in the order of its memory. `to` and
  // `from` have as many; the store is on the host, in float32.
  void Get(const ParameterStore& store, std::span<float> to) const;
  // As they are in the store where all of them are exchanged, else copied to `buffer`.
  std::span<const float> View(const ParameterStore& store, std::vector<float>& buffer) const;
  void GetLocal(const ParameterStore& store, std::span<float> to) const;
  // The store is marked as changed.
  void Set(std::span<const float> from, ParameterStore& store) const;
  void SetLocal(std::span<const float> from, ParameterStore& store) const;

 private:
  struct Range {
    size_t begin, end;  // of ParameterStore::unfrozen()
  };

  std::vector<Range> exchanged_, local_;  // ascending
  size_t values_ = 0, trainable_ = 0, local_values_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_FEDERATED_EXCHANGED_PARAMETERS_H_
