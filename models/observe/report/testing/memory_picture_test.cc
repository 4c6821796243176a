#include "models/observe/report/memory_picture.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "models/graph/builder.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Kind = MemoryBuffer::Kind;

TEST(DescribeBuffersTest, ABufferIsNamedAfterTheLayerThatWritesItFirst) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({2, 2, 1}).Flatten().Fc(3).Softmax();
  const Graph graph = *b.Build();
  ASSERT_EQ(graph.nodes().size(), 4U);
  PlanLayout layout;
  layout.activation = {{PlanLayout::kBatch}, {0}, {1}, {1}};
  layout.gradient = {{PlanLayout::kNone}, {2}, {2}, {1}};
  layout.state = {PlanLayout::kNone, PlanLayout::kNone, 3, PlanLayout::kNone};
  layout.losses = 4;
  layout.buffers = {{.bytes = 64, .first = 1, .last = 8, .offset = 0},
                    {.bytes = 128, .first = 2, .last = 5, .offset = 64},
                    {.bytes = 192, .first = 6, .last = 7, .offset = 256},
                    {.bytes = 256, .first = 0, .last = 9, .offset = 512},
                    {.bytes = 320, .first = 4, .last = 4, .offset = 768}};
  const std::vector<MemoryBuffer> buffers = DescribeBuffers(graph, layout);
  const auto& nodes = graph.nodes();
  // In the order of their first use.
  const std::vector<MemoryBuffer> expected = {{nodes[2].name, Kind::kState, 256, 512, 0, 9},
                                              {nodes[1].name, Kind::kActivation, 64, 0, 1, 8},
                                              {nodes[2].name, Kind::kActivation, 128, 64, 2, 5},
                                              {"loss", Kind::kActivation, 320, 768, 4, 4},
                                              {nodes[2].name, Kind::kGradient, 192, 256, 6, 7}};
  ASSERT_EQ(buffers.size(), expected.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(buffers[i].name, expected[i].name);
    EXPECT_EQ(buffers[i].kind, expected[i].kind);
    EXPECT_EQ(buffers[i].bytes, expected[i].bytes);
    EXPECT_EQ(buffers[i].offset, expected[i].offset);
    EXPECT_EQ(buffers[i].first, expected[i].first);
    EXPECT_EQ(buffers[i].last, expected[i].last);
  }
}

// 10 moments are 310 wide from 80 on, 200 bytes 200 high from 208 upwards.
TEST(DrawMemoryTest, ABufferIsARectangleOfItsMomentsAndBytes) {
  const std::vector<MemoryBuffer> buffers = {{"a<b", Kind::kActivation, 100, 0, 0, 4},
                                             {"c", Kind::kGradient, 50, 150, 2, 9}};
  const SvgPicture picture = DrawMemory("memory", buffers, 10);
  EXPECT_EQ(picture.id, "memory");
  EXPECT_EQ(picture.width, 400);
  EXPECT_EQ(picture.height, 270);
  for (const char* part :
       {"<rect class=\"edge f0\" x=\"80\" y=\"108\" width=\"155\" height=\"100\"><title>a&lt;b, "
        "activation: 100.0 Bytes</title></rect>",
        "<rect class=\"edge f1\" x=\"142\" y=\"8\" width=\"248\" height=\"50\"><title>c, gradient: "
        "50.0 Bytes</title></rect>",
        "x=\"74\" y=\"212\" text-anchor=\"end\">0.0 Bytes<",
        "x=\"74\" y=\"112\" text-anchor=\"end\">100.0 Bytes<",
        "x=\"74\" y=\"12\" text-anchor=\"end\">200.0 Bytes<", "d=\"M80 208H390M235 8V214\"",
        "x=\"157.5\" y=\"226\" text-anchor=\"middle\">forward pass<",
        "x=\"312.5\" y=\"226\" text-anchor=\"middle\">backward pass<",
        "<rect class=\"f0\" x=\"80\" y=\"244\" width=\"12\" height=\"12\"/>",
        "<rect class=\"f1\" x=\"180\" y=\"244\" width=\"12\" height=\"12\"/>",
        "<rect class=\"f2\" x=\"280\" y=\"244\" width=\"12\" height=\"12\"/>",
        "x=\"98\" y=\"254\" text-anchor=\"start\">activation<",
        "x=\"298\" y=\"254\" text-anchor=\"start\">state of a layer<"}) {
    EXPECT_THAT(picture.contents, HasSubstr(part));
  }
  EXPECT_THAT(picture.description, HasSubstr("has 200.0 Bytes, which 2 buffers share"));
  EXPECT_THAT(picture.description, Not(HasSubstr("Drawn are")));
}

TEST(DrawMemoryTest, NothingIsDrawnOfNothing) {
  EXPECT_THAT(DrawMemory("memory", {}, 10).contents, IsEmpty());
  const MemoryBuffer buffer = {"a", Kind::kActivation, 100, 0, 0, 4};
  EXPECT_THAT(DrawMemory("memory", {buffer}, 0).contents, IsEmpty());
  EXPECT_THAT(DrawMemory("memory", {buffer}, 1).contents, HasSubstr("<rect"));
}

TEST(DrawMemoryTest, TheLargestAreDrawn) {
  std::vector<MemoryBuffer> buffers;
  for (int i = 0; i < 1501; ++i) {
    buffers.push_back({"n" + std::to_string(i), Kind::kState, double(1 + i), 0, i, i});
  }
  const SvgPicture picture = DrawMemory("memory", buffers, 1501);
  EXPECT_THAT(picture.contents, Not(HasSubstr("<title>n0, ")));
  EXPECT_THAT(picture.contents, HasSubstr("<title>n1, "));
  EXPECT_THAT(picture.contents, HasSubstr("<title>n1500, "));
  EXPECT_THAT(picture.description, HasSubstr(" Drawn are the 1500 largest."));
}

TEST(LargestBuffersTest, AreInTheOrderOfTheirBytes) {
  const HtmlTable table = LargestBuffers({{"a&", Kind::kActivation, 100, 0, 0, 4},
                                          {"b", Kind::kGradient, 300, 0, 3, 7},
                                          {"c", Kind::kState, 2048, 0, 1, 2},
                                          {"d", Kind::kState, 50, 0, 5, 6}},
                                         3);
  using Row = std::vector<std::string>;
  EXPECT_EQ(table.rows,
            (std::vector<Row>{
                {"c", "state of a layer", "<data value=\"2048\">2.0 KBytes</data>", "1", "2"},
                {"b", "gradient", "<data value=\"300\">300.0 Bytes</data>", "3", "7"},
                {"a&amp;", "activation", "<data value=\"100\">100.0 Bytes</data>", "0", "4"}}));
}

}  // namespace
}  // namespace dtnn
