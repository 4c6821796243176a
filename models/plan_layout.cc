#include "models/plan_layout.h"

#include <algorithm>

namespace dtnn {
namespace {

class LayoutMaker {
 public:
  LayoutMaker(const Graph& graph, const std::vector<LayerOpTraits>& traits,
              const std::vector<uint8_t>& absorbed, const PlanLayoutOptions& options)
      : nodes_(graph.nodes()),
        traits_(traits),
        absorbed_(absorbed),
        options_(options),
        consumers_(ConsumersOf(graph)),
        count_(int(nodes_.size())) {}

  PlanLayout Make() {
    layout_.activation.assign(nodes_.size(), PlanLayout::kNone);
    layout_.gradient = layout_.state = layout_.activation;
    layout_.accumulate.resize(nodes_.size());
    PlaceActivations();
    layout_.losses = NewBuffer(options_.batch * int64_t(SizeOf(options_.dtype)), count_);
    Extend(layout_.losses, End());
    if (options_.training) PlaceGradients();
    layout_.arena_bytes = PlaceBuffers(layout_.buffers);
    return std::move(layout_);
  }

 private:
  int End() const { return 2 * count_ + 1; }
  int BackwardMoment(int node) const { return 2 * count_ - node; }

  int NewBuffer(int64_t bytes, int first) {
    layout_.buffers.push_back({.bytes = size_t(bytes), .first = first, .last = first});
    return int(layout_.buffers.size()) - 1;
  }
  int NewValue(int node, int first) {
    return NewBuffer(options_.batch * nodes_[size_t(node)].output.NumElements() *
                         int64_t(SizeOf(options_.dtype)),
                     first);
  }
  void Extend(int buffer, int moment) {
    if (buffer < 0) return;
    PlannedBuffer& planned = layout_.buffers[size_t(buffer)];
    planned.first = std::min(planned.first, moment);
    planned.last = std::max(planned.last, moment);
  }

  const LayerOpTraits& traits(int node) const { return traits_[size_t(node)]; }
  const Node& node(int index) const { return nodes_[size_t(index)]; }

  // May `index` write over its input? Follows views back to whoever produced the content.
  bool MayOverwriteInput(int index) const {
    if (!traits(index).forward_in_place || node(index).inputs.size() != 1) return false;
    if (options_.training && traits(index).backward_reads_input) return false;
    for (int value = node(index).inputs[0];; value = node(value).inputs[0]) {
      if (consumers_[size_t(value)].size() != 1 || node(value).inputs.empty()) return false;
      if (options_.training && traits(value).backward_reads_output) return false;
      if (!traits(value).is_view) break;
    }
    return layout_.activation[size_t(node(index).inputs[0])] >= 0;
  }

  void PlaceActivations() {
    layout_.activation[0] = PlanLayout::kBatch;
    for (int i = 1; i < count_; ++i) {
      const bool shared = traits(i).is_view || absorbed_[size_t(i)] || MayOverwriteInput(i);
      layout_.activation[size_t(i)] =
          shared ? layout_.activation[size_t(node(i).inputs[0])] : NewValue(i, i);
      Extend(layout_.activation[size_t(i)], i);
      for (int input : node(i).inputs) Extend(layout_.activation[size_t(input)], i);
      if (options_.training && traits(i).state_shape.rank() > 0) {
        layout_.state[size_t(i)] = NewBuffer(options_.batch * traits(i).state_shape.NumElements() *
                                                 int64_t(SizeOf(traits(i).state_dtype)),
                                             i);
      }
    }
    Extend(layout_.activation.back(), End());
    // The loss reads the last node's output, or the logits before it.
    if (options_.loss_takes_logits) {
      Extend(layout_.activation[size_t(node(count_ - 1).inputs[0])], count_);
    }
  }

  void FindNeeds() {
    layout_.needs_gradient.assign(nodes_.size(), 0);
    for (int i = 0; i < count_; ++i) {
      for (const ParameterSpec& parameter : node(i).parameters) {
        if (parameter.trainable) layout_.needs_gradient[size_t(i)] = 1;
      }
      for (int input : node(i).inputs) {
        layout_.needs_gradient[size_t(i)] |= layout_.needs_gradient[size_t(input)];
      }
    }
  }

  void PlaceGradients() {
    FindNeeds();
    int last = count_ - 1;
    if (options_.loss_takes_logits) last = node(last).inputs[0];
    layout_.gradient[size_t(last)] = NewValue(last, count_);
    for (int i = last; i > 0; --i) {
      if (!layout_.needs_gradient[size_t(i)]) continue;
      const int moment = BackwardMoment(i);
      Extend(layout_.gradient[size_t(i)], moment);
      Extend(layout_.state[size_t(i)], moment);
      if (traits(i).backward_reads_output) Extend(layout_.activation[size_t(i)], moment);
      PlaceInputGradients(i, moment);
    }
  }

  void PlaceInputGradients(int i, int moment) {
    const std::vector<int>& inputs = node(i).inputs;
    layout_.accumulate[size_t(i)].assign(inputs.size(), 0);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const int input = inputs[k];
      if (traits(i).backward_reads_input) Extend(layout_.activation[size_t(input)], moment);
      if (!layout_.needs_gradient[size_t(input)]) continue;
      int& gradient = layout_.gradient[size_t(input)];
      if (gradient != PlanLayout::kNone) {
        layout_.accumulate[size_t(i)][k] = 1;
      } else if (traits(i).backward_in_place == int(k) && consumers_[size_t(input)].size() == 1) {
        gradient = layout_.gradient[size_t(i)];
      } else {
        gradient = NewValue(input, moment);
      }
      Extend(gradient, moment);
    }
  }

  const std::vector<Node>& nodes_;
  const std::vector<LayerOpTraits>& traits_;
  const std::vector<uint8_t>& absorbed_;
  const PlanLayoutOptions options_;
  const std::vector<std::vector<int>> consumers_;
  const int count_;
  PlanLayout layout_;
};

}  // namespace

std::vector<std::vector<int>> ConsumersOf(const Graph& graph) {
  std::vector<std::vector<int>> consumers(graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (int input : graph.nodes()[i].inputs) consumers[size_t(input)].push_back(int(i));
  }
  return consumers;
}

PlanLayout MakePlanLayout(const Graph& graph, const std::vector<LayerOpTraits>& traits,
                          const std::vector<uint8_t>& absorbed, const PlanLayoutOptions& options) {
  return LayoutMaker(graph, traits, absorbed, options).Make();
}

}  // namespace dtnn
