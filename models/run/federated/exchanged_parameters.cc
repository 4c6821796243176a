#include "models/run/federated/exchanged_parameters.h"

#include <fnmatch.h>

#include <algorithm>
#include <string>

#include "models/run/options/option_text.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

float* DataOf(const ParameterStore& store) { return store.unfrozen().data<float>(); }

// Where each parameter that training changes begins, ascending, and where the last one ends. What
// fills up memory after a parameter goes where it goes.
std::vector<size_t> BeginsOf(const Graph& graph, const ParameterStore& store) {
  const auto size = size_t(store.unfrozen().num_elements());
  std::vector<size_t> begins = {size};
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (size_t p = 0; p < graph.nodes()[n].parameters.size(); ++p) {
      const auto begin = size_t(store.Offset(int(n), int(p)));
      if (begin < size) begins.push_back(begin);
    }
  }
  std::ranges::sort(begins);
  return begins;
}

}  // namespace

absl::StatusOr<ExchangedParameters> ExchangedParameters::Create(const Graph& graph,
                                                                const ParameterStore& store,
                                                                std::string_view local) {
  ExchangedParameters parameters;
  const auto size = size_t(store.unfrozen().num_elements());
  const auto trainable = size_t(store.values().num_elements());
  const std::vector<size_t> begins = BeginsOf(graph, store);
  const std::vector<std::string_view> patterns = SplitList(local);
  if (patterns.empty() && !local.empty()) {
    return InvalidArgument("\"", local, "\" contains no pattern");
  }
  for (const std::string_view word : patterns) {
    const std::string pattern(word);
    bool found = false;
    for (size_t n = 0; n < graph.nodes().size(); ++n) {
      const Node& node = graph.nodes()[n];
      for (size_t p = 0; p < node.parameters.size(); ++p) {
        const auto begin = size_t(store.Offset(int(n), int(p)));
        const std::string key = Graph::WeightKey(node, node.parameters[p]);
        if (begin >= size || fnmatch(pattern.c_str(), key.c_str(), 0) != 0) continue;
        found = true;
        parameters.local_.push_back({begin, *std::ranges::upper_bound(begins, begin)});
      }
    }
    if (found) continue;
    return InvalidArgument("\"", pattern, "\" matches no parameter of model ", graph.name(),
                           " that training changes; keys are such as \"12_Conv2D_weights\"");
  }
  std::ranges::sort(parameters.local_, {}, &Range::begin);
  const auto same = std::ranges::unique(parameters.local_, {}, &Range::begin);
  parameters.local_.erase(same.begin(), same.end());
  size_t at = 0;
  const auto exchange = [&](size_t end) {
    if (at == end) return;
    parameters.exchanged_.push_back({at, end});
    parameters.values_ += end - at;
    parameters.trainable_ += std::min(end, trainable) - std::min(at, trainable);
  };
  for (const Range& range : parameters.local_) {
    exchange(range.begin);
    at = range.end;
    parameters.local_values_ += range.end - range.begin;
  }
  exchange(size);
  if (parameters.trainable_ > 0) return parameters;
  if (local.empty()) {
    return absl::InvalidArgumentError("the network has no parameters that training changes");
  }
  return InvalidArgument("\"", local, "\" leaves no trainable parameter of model ", graph.name(),
                         " to exchange");
}

void ExchangedParameters::Get(const ParameterStore& store, std::span<float> to) const {
  const float* const from = DataOf(store);
  auto next = to.begin();
  for (const Range& range : exchanged_) {
    next = std::copy(from + range.begin, from + range.end, next);
  }
}

std::span<const float> ExchangedParameters::View(const ParameterStore& store,
                                                 std::vector<float>& buffer) const {
  if (local_.empty()) return {DataOf(store), values_};
  buffer.resize(values_);
  Get(store, buffer);
  return buffer;
}

std::string ExchangedParameters::LocalText() const {
  std::string text;
  for (const Range& range : local_) StrAppend(&text, range.begin, "-", range.end, ",");
  return text;
}

void ExchangedParameters::GetLocal(const ParameterStore& store, std::span<float> to) const {
  const float* const from = DataOf(store);
  auto next = to.begin();
  for (const Range& range : local_) next = std::copy(from + range.begin, from + range.end, next);
}

void ExchangedParameters::Set(std::span<const float> from, ParameterStore& store) const {
  float* const to = DataOf(store);
  for (const Range& range : exchanged_) {
    std::ranges::copy(from.first(range.end - range.begin), to + range.begin);
    from = from.subspan(range.end - range.begin);
  }
  store.MarkChanged();
}

void ExchangedParameters::SetLocal(std::span<const float> from, ParameterStore& store) const {
  float* const to = DataOf(store);
  for (const Range& range : local_) {
    std::ranges::copy(from.first(range.end - range.begin), to + range.begin);
    from = from.subspan(range.end - range.begin);
  }
  store.MarkChanged();
}

}  // namespace dtnn
