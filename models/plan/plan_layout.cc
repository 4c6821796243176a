#include "models/plan/plan_layout.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace dtnn {
namespace {

class LayoutMaker {
 public:
  LayoutMaker(const Graph& graph, const std::vector<LayerOpTraits>& traits,
              const std::vector<int>& absorber, const PlanLayoutOptions& options)
      : nodes_(graph.nodes()),
        traits_(traits),
        absorber_(absorber),
        options_(options),
        format_(graph.format()),
        consumers_(ConsumersOf(graph)),
        count_(int(nodes_.size())) {
    if (options.training) layout_.needs_gradient = NeedsGradient(graph);
    FindInputs();
  }

  PlanLayout Make() {
    layout_.activation.resize(nodes_.size());
    layout_.gradient.resize(nodes_.size());
    layout_.state.assign(nodes_.size(), PlanLayout::kNone);
    layout_.accumulate.resize(nodes_.size());
    FindLastReads();
    PlaceActivations();
    layout_.losses =
        NewBuffer(kActivation, options_.batch * int64_t(SizeOf(options_.dtype)), count_);
    Extend(layout_.losses, End());
    if (options_.training) PlaceGradients();
    MeasurePeak();
    layout_.memory.arena = PlaceBuffers(layout_.buffers);
    return std::move(layout_);
  }

 private:
  // Values that share memory as a whole, in the order in which they are written, the first by its
  // producer. `host`: the slot of which this one is a range of channels.
  struct Slot {
    std::vector<int> values;
    int host = -1;
    int64_t first_channel = 0;
    std::vector<int> parts;
  };
  static constexpr int kBatchSlot = 0;
  enum Kind : uint8_t { kActivation, kGradient, kState, kKinds };

  int End() const { return 2 * count_ + 1; }
  int BackwardMoment(int node) const { return 2 * count_ - node; }

  int NewBuffer(Kind kind, int64_t bytes, int first) {
    kinds_.push_back(kind);
    layout_.buffers.push_back({.bytes = size_t(bytes), .first = first, .last = first});
    return int(layout_.buffers.size()) - 1;
  }
  int NewValue(Kind kind, int node, int first) {
    return NewBuffer(
        kind,
        options_.batch * nodes_[size_t(node)].output.NumElements() * int64_t(SizeOf(DTypeOf(node))),
        first);
  }
  DType DTypeOf(int node) const {
    return options_.value_dtypes.empty() ? options_.dtype : options_.value_dtypes[size_t(node)];
  }
  void Extend(int buffer, int moment) {
    if (buffer < 0) return;
    PlannedBuffer& planned = layout_.buffers[size_t(buffer)];
    planned.first = std::min(planned.first, moment);
    planned.last = std::max(planned.last, moment);
  }

  const LayerOpTraits& traits(int node) const { return traits_[size_t(node)]; }
  bool RunsBackward(int node) const {
    return options_.training && layout_.needs_gradient[size_t(node)];
  }
  const Node& node(int index) const { return nodes_[size_t(index)]; }
  // Whose memory a value is that has none of its own.
  int SourceOf(int index) const {
    const int absorber = absorber_[size_t(index)];
    return absorber >= 0 ? absorber : node(index).inputs[0];
  }

  int64_t ChannelsOf(int index) const { return ExtentsOf(node(index).output, format_).channels; }

  // What an op reads: its node's inputs, and last the addend of a sum that it computes too, of
  // which the sum itself has only the other term.
  void FindInputs() {
    for (const Node& node : nodes_) inputs_.push_back(node.inputs);
    for (int i = 0; i < count_; ++i) {
      const int absorber = absorber_[size_t(i)];
      if (absorber < 0 || node(i).inputs.size() != 2) continue;
      std::vector<int>& terms = inputs_[size_t(i)];
      const bool first = terms[0] == absorber || absorber_[size_t(terms[0])] == absorber;
      inputs_[size_t(absorber)].push_back(terms[first ? 1 : 0]);
      terms.erase(terms.begin() + (first ? 1 : 0));
    }
  }

  // Whether the op that makes a value, or one that reads it, requires dense memory.
  bool NeedsDense(int value) const {
    return traits(value).needs_dense ||
           std::ranges::any_of(consumers_[size_t(value)],
                               [&](int consumer) { return traits(consumer).needs_dense; });
  }

  void Read(int value, int moment) {
    last_read_[size_t(value)] = std::max(last_read_[size_t(value)], moment);
  }
  void FindLastReads() {
    last_read_.resize(nodes_.size());
    std::iota(last_read_.begin(), last_read_.end(), 0);
    const int last = options_.loss_takes_logits ? count_ - 2 : count_ - 1;
    for (int i = 1; i < count_; ++i) {
      const bool backward = i <= last && RunsBackward(i);
      if (backward && traits(i).backward_reads_output) Read(i, BackwardMoment(i));
      for (int input : inputs_[size_t(i)]) Read(input, i);
      if (!backward || !traits(i).backward_reads_input) continue;
      for (int input : node(i).inputs) Read(input, BackwardMoment(i));
      if (traits(i).backward_reads_addend) Read(inputs_[size_t(i)].back(), BackwardMoment(i));
    }
    Read(count_ - 1, End());
    Read(last, count_);  // the loss reads the last node's output, or the logits before it
  }

  // May `index` write over its input? Follows views back to the node that produced the content.
  bool MayOverwriteInput(int index) const {
    if (!traits(index).forward_in_place) return false;
    if (DTypeOf(index) != DTypeOf(node(index).inputs[0])) return false;
    if (RunsBackward(index) && traits(index).backward_reads_input) return false;
    for (int value = node(index).inputs[0];; value = SourceOf(value)) {
      if (consumers_[size_t(value)].size() != 1 || node(value).inputs.empty()) return false;
      if (RunsBackward(value) && traits(value).backward_reads_output) return false;
      if (!traits(value).is_view) break;
    }
    return slot_of_[size_t(node(index).inputs[0])] != kBatchSlot;
  }

  // Whether the op `index` may write over what it adds: nothing reads that later, or in another
  // way.
  bool MayOverwriteAddend(int index) const {
    if (options_.training || !traits(index).forward_over_addend) return false;
    const std::vector<int>& inputs = inputs_[size_t(index)];
    if (inputs.size() <= node(index).inputs.size()) return false;
    const int addend = inputs.back(), slot = slot_of_[size_t(addend)];
    if (slot == kBatchSlot || DTypeOf(index) != DTypeOf(addend)) return false;
    for (const int input : node(index).inputs) {
      if (slot_of_[size_t(input)] == slot) return false;
    }
    for (const int value : slots_[size_t(slot)].values) {
      if (last_read_[size_t(value)] > index || traits(value).joins_channels) return false;
      for (const int consumer : consumers_[size_t(value)]) {
        if (traits(consumer).joins_channels) return false;
      }
    }
    return true;
  }

  void AssignSlots() {
    slot_of_.assign(nodes_.size(), kBatchSlot);
    slots_.resize(1);
    for (int i = 1; i < count_; ++i) {
      if (traits(i).is_view || absorber_[size_t(i)] >= 0 || MayOverwriteInput(i)) {
        slot_of_[size_t(i)] = slot_of_[size_t(SourceOf(i))];
      } else if (MayOverwriteAddend(i)) {
        slot_of_[size_t(i)] = slot_of_[size_t(inputs_[size_t(i)].back())];
      } else {
        slot_of_[size_t(i)] = int(slots_.size());
        slots_.emplace_back();
      }
      slots_[size_t(slot_of_[size_t(i)])].values.push_back(i);
    }
  }

  // When the last value of a slot, or of a part of it, is read.
  int LastRead(const Slot& slot) const {
    int last = 0;
    for (int value : slot.values) last = std::max(last, last_read_[size_t(value)]);
    for (int part : slot.parts) last = std::max(last, LastRead(slots_[size_t(part)]));
    return last;
  }

  // May `value` live in its place within `whole`, which joins it with others?
  bool MayBePart(int value, int whole) const {
    const int index = slot_of_[size_t(value)];
    const Slot& slot = slots_[size_t(index)];
    if (index == kBatchSlot || slot.host >= 0) return false;
    for (int other : slot.values) {  // no view of it under another shape, which would be dense
      if (node(other).output != node(value).output || NeedsDense(other)) return false;
    }
    const int last = LastRead(slot);
    for (int writer : slots_[size_t(slot_of_[size_t(whole)])].values) {
      if (writer > whole && !traits(writer).is_view && last >= writer) return false;
    }
    return true;
  }

  void JoinSlots() {
    for (int i = 1; i < count_; ++i) {
      if (!traits(i).joins_channels) continue;
      const int host = slot_of_[size_t(i)];
      int64_t first_channel = 0;
      for (int input : node(i).inputs) {
        if (MayBePart(input, i)) {
          Slot& part = slots_[size_t(slot_of_[size_t(input)])];
          part.host = host;
          part.first_channel = first_channel;
          slots_[size_t(host)].parts.push_back(slot_of_[size_t(input)]);
        }
        first_channel += ChannelsOf(input);
      }
    }
  }

  // `count` channels of a value that has `all` of them.
  static PlannedValue Part(PlannedValue value, int64_t all, int64_t first, int64_t count) {
    if (count == all) return value;
    value.first_channel += first;
    if (value.dense()) value.channels = all;
    return value;
  }

  // Hosts are produced after their parts: from the last slot to the first.
  std::vector<PlannedValue> PlaceSlots() {
    std::vector<PlannedValue> places(slots_.size());
    places[kBatchSlot].buffer = PlanLayout::kBatch;
    for (size_t i = slots_.size(); i-- > 1;) {
      const Slot& slot = slots_[i];
      const int producer = slot.values[0];
      if (slot.host < 0) {
        places[i].buffer = NewValue(kActivation, producer, producer);
      } else {
        const int whole = slots_[size_t(slot.host)].values[0];
        places[i] = Part(places[size_t(slot.host)], ChannelsOf(whole), slot.first_channel,
                         ChannelsOf(producer));
      }
    }
    return places;
  }

  void PlaceActivations() {
    AssignSlots();
    JoinSlots();
    const std::vector<PlannedValue> places = PlaceSlots();
    for (int i = 0; i < count_; ++i) {
      layout_.activation[size_t(i)] = places[size_t(slot_of_[size_t(i)])];
      Extend(layout_.activation[size_t(i)].buffer, i);
      Extend(layout_.activation[size_t(i)].buffer, last_read_[size_t(i)]);
      if (options_.training && traits(i).state_shape.rank() > 0) {
        layout_.state[size_t(i)] = NewBuffer(kState,
                                             options_.batch * traits(i).state_shape.NumElements() *
                                                 int64_t(SizeOf(traits(i).state_dtype)),
                                             i);
      }
    }
  }

  void PlaceGradients() {
    int last = count_ - 1;
    if (options_.loss_takes_logits) last = node(last).inputs[0];
    layout_.gradient[size_t(last)].buffer = NewValue(kGradient, last, count_);
    for (int i = last; i > 0; --i) {
      if (!layout_.needs_gradient[size_t(i)]) continue;
      Extend(layout_.gradient[size_t(i)].buffer, BackwardMoment(i));
      Extend(layout_.state[size_t(i)], BackwardMoment(i));
      PlaceInputGradients(i);
    }
  }

  // The input whose gradient becomes dy's memory: the addend, or what the op's traits say. -1:
  // none.
  int InPlace(int i) const {
    const std::vector<int>& inputs = inputs_[size_t(i)];
    const auto may = [&](int k) {
      const int input = inputs[size_t(k)];
      return layout_.needs_gradient[size_t(input)] &&
             layout_.gradient[size_t(input)].buffer == PlanLayout::kNone &&
             DTypeOf(i) == DTypeOf(input) &&
             (layout_.gradient[size_t(i)].dense() ||
              (node(i).output == node(input).output && !NeedsDense(input)));
    };
    const int addend = int(inputs.size()) - 1;
    const bool adds = inputs.size() > node(i).inputs.size();
    if (adds && may(addend)) return addend;
    const int own = traits(i).backward_in_place;
    if (own < 0 || consumers_[size_t(inputs[size_t(own)])].size() != 1 || !may(own)) return -1;
    return own;
  }

  // May the gradient of the first input become the output's memory, which nobody reads later?
  bool MayOverwriteOutput(int i) const {
    const PlannedValue& output = layout_.activation[size_t(i)];
    return traits(i).backward_over_output && output.dense() && output.buffer >= 0 &&
           layout_.buffers[size_t(output.buffer)].last == BackwardMoment(i) &&
           DTypeOf(i) == DTypeOf(inputs_[size_t(i)][0]);
  }

  void PlaceInputGradients(int i) {
    const std::vector<int>& inputs = inputs_[size_t(i)];
    const int in_place = InPlace(i);
    layout_.accumulate[size_t(i)].assign(inputs.size(), 0);
    int64_t first_channel = 0;
    for (size_t k = 0; k < inputs.size(); ++k) {
      const int input = inputs[k];
      const int64_t begin = first_channel;
      if (traits(i).joins_channels) first_channel += ChannelsOf(input);
      if (!layout_.needs_gradient[size_t(input)]) continue;
      PlannedValue& gradient = layout_.gradient[size_t(input)];
      const PlannedValue& dy = layout_.gradient[size_t(i)];
      if (gradient.buffer != PlanLayout::kNone) {
        layout_.accumulate[size_t(i)][k] = 1;
      } else if (traits(i).joins_channels && !NeedsDense(input)) {
        // Earlier users of the input add to this part of dy, which no other node needs any more.
        gradient = Part(dy, ChannelsOf(i), begin, ChannelsOf(input));
      } else if (in_place == int(k)) {
        gradient = dy;
      } else if (k == 0 && MayOverwriteOutput(i)) {
        gradient = layout_.activation[size_t(i)];
      } else {
        gradient.buffer = NewValue(kGradient, input, BackwardMoment(i));
      }
      Extend(gradient.buffer, BackwardMoment(i));
    }
  }

  void MeasurePeak() {
    std::vector<std::array<int64_t, kKinds>> changes(size_t(End()) + 2);
    for (size_t i = 0; i < kinds_.size(); ++i) {
      const PlannedBuffer& buffer = layout_.buffers[i];
      changes[size_t(buffer.first)][kinds_[i]] += int64_t(buffer.bytes);
      changes[size_t(buffer.last) + 1][kinds_[i]] -= int64_t(buffer.bytes);
    }
    std::array<int64_t, kKinds> live = {}, most = {};
    for (const auto& change : changes) {
      for (size_t k = 0; k < kKinds; ++k) live[k] += change[k];
      const auto sum = [](const auto& kinds) { return std::reduce(kinds.begin(), kinds.end()); };
      if (sum(live) > sum(most)) most = live;
    }
    layout_.memory.activations = size_t(most[kActivation]);
    layout_.memory.gradients = size_t(most[kGradient]);
    layout_.memory.state = size_t(most[kState]);
  }

  const std::vector<Node>& nodes_;
  const std::vector<LayerOpTraits>& traits_;
  const std::vector<int>& absorber_;
  const PlanLayoutOptions options_;
  const TensorFormat format_;
  const std::vector<std::vector<int>> consumers_;
  const int count_;
  std::vector<std::vector<int>> inputs_;  // per node
  std::vector<int> last_read_;            // per node: the moment at which its output is read last
  std::vector<int> slot_of_;              // per node
  std::vector<Slot> slots_;
  std::vector<Kind> kinds_;  // of layout_.buffers
  PlanLayout layout_;
};

}  // namespace

std::vector<uint8_t> NeedsGradient(const Graph& graph) {
  std::vector<uint8_t> needs;
  for (const Node& node : graph.nodes()) {
    uint8_t need = std::ranges::any_of(node.parameters, &ParameterSpec::trainable);
    for (int input : node.inputs) need |= needs[size_t(input)];
    needs.push_back(need);
  }
  return needs;
}

std::vector<std::vector<int>> ConsumersOf(const Graph& graph) {
  std::vector<std::vector<int>> consumers(graph.nodes().size());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    for (int input : graph.nodes()[i].inputs) consumers[size_t(input)].push_back(int(i));
  }
  return consumers;
}

PlanLayout MakePlanLayout(const Graph& graph, const std::vector<LayerOpTraits>& traits,
                          const std::vector<int>& absorber, const PlanLayoutOptions& options) {
  return LayoutMaker(graph, traits, absorber, options).Make();
}

}  // namespace dtnn
