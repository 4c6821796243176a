#include "models/observe/report/memory_picture.h"

#include <algorithm>

#include "models/graph/table.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr double kWidth = 400, kLeft = 80, kRight = 10, kTop = 8, kHeight = 200;
constexpr size_t kMostDrawn = 1500;

std::string_view Name(MemoryBuffer::Kind kind) {
  constexpr std::string_view kNames[] = {"activation", "gradient", "state of a layer"};
  return kNames[size_t(kind)];
}

std::vector<MemoryBuffer> Largest(std::vector<MemoryBuffer> buffers, size_t most) {
  std::ranges::stable_sort(buffers, std::greater(), &MemoryBuffer::bytes);
  buffers.resize(std::min(buffers.size(), most));
  return buffers;
}

std::string DrawLegend(double y) {
  std::string text;
  double x = kLeft;
  for (const auto kind : {MemoryBuffer::Kind::kActivation, MemoryBuffer::Kind::kGradient,
                          MemoryBuffer::Kind::kState}) {
    StrAppend(&text, "<rect class=\"f", int(kind), "\" x=\"", SvgNumber(x), "\" y=\"", SvgNumber(y),
              "\" width=\"12\" height=\"12\"/>\n", SvgText(x + 18, y + 10, "start", Name(kind)));
    x += 100;
  }
  return text;
}

}  // namespace

std::vector<MemoryBuffer> DescribeBuffers(const Graph& graph, const PlanLayout& layout) {
  std::vector<MemoryBuffer> buffers(layout.buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PlannedBuffer& planned = layout.buffers[i];
    buffers[i] = {.bytes = double(planned.bytes),
                  .offset = double(planned.offset),
                  .first = planned.first,
                  .last = planned.last};
  }
  const auto name = [&](int buffer, MemoryBuffer::Kind kind, const std::string& layer) {
    if (buffer < 0 || !buffers[size_t(buffer)].name.empty()) return;
    buffers[size_t(buffer)].name = layer;
    buffers[size_t(buffer)].kind = kind;
  };
  const std::vector<Node>& nodes = graph.nodes();
  for (size_t i = 0; i < nodes.size(); ++i) {
    name(layout.activation[i].buffer, MemoryBuffer::Kind::kActivation, nodes[i].name);
    name(layout.state[i], MemoryBuffer::Kind::kState, nodes[i].name);
  }
  for (size_t i = nodes.size(); i-- > 0;) {
    name(layout.gradient[i].buffer, MemoryBuffer::Kind::kGradient, nodes[i].name);
  }
  name(layout.losses, MemoryBuffer::Kind::kActivation, "loss");
  std::ranges::stable_sort(buffers, {}, &MemoryBuffer::first);
  return buffers;
}

SvgPicture DrawMemory(std::string_view id, const std::vector<MemoryBuffer>& buffers, int moments) {
  SvgPicture picture = {.id = std::string(id),
                        .title = "Memory of a training step",
                        .width = kWidth,
                        .height = kTop + kHeight + 62};
  double arena = 0;
  for (const MemoryBuffer& buffer : buffers) arena = std::max(arena, buffer.offset + buffer.bytes);
  if (arena == 0 || moments < 1) return picture;
  const auto x = [&](double moment) {
    return kLeft + moment / moments * (kWidth - kLeft - kRight);
  };
  const auto y = [&](double bytes) { return kTop + kHeight - bytes / arena * kHeight; };
  const std::vector<MemoryBuffer> drawn = Largest(buffers, kMostDrawn);
  for (const MemoryBuffer& buffer : drawn) {
    StrAppend(
        &picture.contents, "<rect class=\"edge f", int(buffer.kind), "\" x=\"",
        SvgNumber(x(buffer.first)), "\" y=\"", SvgNumber(y(buffer.offset + buffer.bytes)),
        "\" width=\"", SvgNumber(x(buffer.last + 1) - x(buffer.first)), "\" height=\"",
        SvgNumber(y(buffer.offset) - y(buffer.offset + buffer.bytes)), "\"><title>",
        HtmlText(StrCat(buffer.name, ", ", Name(buffer.kind), ": ", FormatBytes(buffer.bytes))),
        "</title></rect>\n");
  }
  for (const double part : {0.0, 0.5, 1.0}) {
    StrAppend(&picture.contents,
              SvgText(kLeft - 6, y(part * arena) + 4, "end", FormatBytes(part * arena)));
  }
  const double middle = x(moments / 2.0), bottom = kTop + kHeight;
  StrAppend(&picture.contents, "<path class=\"axis\" d=\"M", SvgNumber(kLeft), " ",
            SvgNumber(bottom), "H", SvgNumber(kWidth - kRight), "M", SvgNumber(middle), " ",
            SvgNumber(kTop), "V", SvgNumber(bottom + 6), "\"/>\n",
            SvgText((kLeft + middle) / 2, bottom + 18, "middle", "forward pass"),
            SvgText((middle + kWidth - kRight) / 2, bottom + 18, "middle", "backward pass"),
            DrawLegend(bottom + 36));
  picture.description = StrCat(
      "The arena has ", FormatBytes(arena), ", which ", buffers.size(),
      " buffers share: activations fill it in the forward pass, gradients take their place in "
      "the backward pass.");
  if (drawn.size() < buffers.size()) {
    StrAppend(&picture.description, " Drawn are the ", drawn.size(), " largest.");
  }
  return picture;
}

HtmlTable LargestBuffers(const std::vector<MemoryBuffer>& buffers, size_t most) {
  HtmlTable table = {.columns = {"layer", "kind", "bytes", "from moment", "to moment"}};
  for (const MemoryBuffer& buffer : Largest(buffers, most)) {
    table.rows.push_back({HtmlText(buffer.name), std::string(Name(buffer.kind)),
                          StrCat("<data value=\"", int64_t(buffer.bytes), "\">",
                                 FormatBytes(buffer.bytes), "</data>"),
                          StrCat(buffer.first), StrCat(buffer.last)});
  }
  return table;
}

}  // namespace dtnn
