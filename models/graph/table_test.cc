#include "models/graph/table.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "models/zoo/zoo.h"

namespace dtnn {
namespace {

TEST(TableTest, SimpleCnn) {
  const Graph graph = *BuildModel("simplecnn", {});
  const std::string line =
      "+-------+--------------------------+---------+---------------+-------------------+----------"
      "---------------------------+\n";
  const std::string expected =
      line +
      "| Layer |           Type           | #Params | Output shape  |   Weights shape   |          "
      "   Parameters              |\n" +
      line +
      "|   0   |         InputCPU         |    0    |  (28, 28, 1)  |                   |          "
      "                           |\n" +
      line +
      "|   1   |        Conv2DCPU         |   40    |  (28, 28, 4)  |   (1, 3, 3, 4)    "
      "|padd=(1,1), stride=(1,1), dilat=(1,1)|\n" +
      line +
      "|   2   |        Conv2DCPU         |   148   |  (28, 28, 4)  |   (4, 3, 3, 4)    "
      "|padd=(1,1), stride=(1,1), dilat=(1,1)|\n" +
      line +
      "|   3   |       MaxPool2DCPU       |    0    |  (14, 14, 4)  |      (2, 2)       "
      "|padd=(0,0), stride=(2,2), dilat=(1,1)|\n" +
      line +
      "|   4   |        FlattenCPU        |    0    |    (784,)     |                   |          "
      "                           |\n" +
      line +
      "|   5   |          FCCPU           | 100480  |    (128,)     |    (784, 128)     |          "
      "                           |\n" +
      line +
      "|   6   |         ReluCPU          |    0    |    (128,)     |                   |          "
      "                           |\n" +
      line +
      "|   7   |        DropoutCPU        |    0    |    (128,)     |                   |          "
      "    rate=0.50              |\n" +
      line +
      "|   8   |          FCCPU           |  1290   |     (10,)     |     (128, 10)     |          "
      "                           |\n" +
      line +
      "|   9   |        SoftmaxCPU        |    0    |     (10,)     |                   |          "
      "                           |\n" +
      line +
      "|             Total parameters       101958    398.27 KBytes                                "
      "  "
      "                         |\n" +
      line;
  EXPECT_EQ(FormatTable(graph, DType::kFloat32, Device::Cpu()), expected);
}

TEST(TableTest, FrozenLayersCarryAStar) {
  const int frozen[] = {1, 5};
  const Graph graph = BuildModel("simplecnn", {})->Frozen(frozen);
  const std::string table = FormatTable(graph, DType::kFloat32, Device::Cpu());
  const auto has = [&](const char* line) { return table.find(line) != std::string::npos; };
  EXPECT_TRUE(has("|  1 *  |        Conv2DCPU         |   40    |"));
  EXPECT_TRUE(has("|   2   |        Conv2DCPU         |   148   |"));
  EXPECT_TRUE(has("|  5 *  |          FCCPU           | 100480  |"));
  EXPECT_TRUE(has("|             Total parameters       101958    398.27 KBytes  "));
  EXPECT_TRUE(has("|           Trainable parameters      1438      5.62 KBytes        * frozen  "));
  EXPECT_TRUE(FormatSummary(graph, DType::kFloat32)
                  .ends_with("101958 parameters (398.27 KBytes), 1438 of them trainable\n"));
}

TEST(TableTest, BlocksListTheirPaths) {
  GraphBuilder b("block", TensorFormat::kNHWC);
  b.Input({4, 4, 2});
  b.Add({[](GraphBuilder& p) { p.Conv2d(2, {.padding = 1}).Relu(); }, GraphBuilder::Identity()});
  b.Relu();
  const std::string table = FormatTable(*b.Build(), DType::kFloat64, Device::Cuda(0));
  size_t at = 0;
  for (const char* text : {"|   1   |AdditionBlockGPU (2-path) |", "|Path 0 |", "|   2   |",
                           "|   3   |", "|Path 1 |", "|   4   |"}) {
    at = table.find(text, at);
    ASSERT_NE(at, std::string::npos) << text << " is missing or out of order in\n" << table;
  }
  EXPECT_NE(table.find("ReluGPU"), std::string::npos);
}

// As inception's last blocks: a block in a path of a block, and an identity.
TEST(TableTest, NestedBlocks) {
  GraphBuilder b("nested", TensorFormat::kNHWC);
  const GraphBuilder::Path row_and_column = [](GraphBuilder& p) {
    p.Conv2d(2, {.kernel = 1});
    p.Concat({[](GraphBuilder& q) {
                q.Conv2d(1, {.kernel = {1, 3}, .padding = {0, 1}});
              },
              [](GraphBuilder& q) {
                q.Conv2d(1, {.kernel = {3, 1}, .padding = {1, 0}});
              }});
    p.BatchNorm();
  };
  b.Input({4, 4, 2}).Concat({row_and_column, GraphBuilder::Identity()});
  b.AveragePool2d({.window = 0});
  EXPECT_EQ("\n" + FormatTable(*b.Build(), DType::kFloat32, Device::Cpu()), R"(
+-------+--------------------------+---------+---------------+-------------------+-------------------------------------+
| Layer |           Type           | #Params | Output shape  |   Weights shape   |             Parameters              |
+-------+--------------------------+---------+---------------+-------------------+-------------------------------------+
|   0   |         InputCPU         |    0    |   (4, 4, 2)   |                   |                                     |
+-------+--------------------------+---------+---------------+-------------------+-------------------------------------+
|   1   | ConcatBlockCPU (2-path)  |         |   (4, 4, 4)   |                   |                                     |
|Path 0 |                          |         |               |                   |                                     |
|   2   |        Conv2DCPU         |    6    |   (4, 4, 2)   |   (2, 1, 1, 2)    |padd=(0,0), stride=(1,1), dilat=(1,1)|
|   3   | ConcatBlockCPU (2-path)  |         |   (4, 4, 2)   |                   |                                     |
|Path 0 |                          |         |               |                   |                                     |
|   4   |        Conv2DCPU         |    7    |   (4, 4, 1)   |   (2, 1, 3, 1)    |padd=(0,1), stride=(1,1), dilat=(1,1)|
|Path 1 |                          |         |               |                   |                                     |
|   5   |        Conv2DCPU         |    7    |   (4, 4, 1)   |   (2, 3, 1, 1)    |padd=(1,0), stride=(1,1), dilat=(1,1)|
|   6   |  BatchNormalizationCPU   |    8    |   (4, 4, 2)   |                   |                                     |
|Path 1 |                          |         |               |                   |                                     |
+-------+--------------------------+---------+---------------+-------------------+-------------------------------------+
|   7   |     AveragePool2DCPU     |    0    |   (1, 1, 4)   |      (4, 4)       |padd=(0,0), stride=(1,1), dilat=(1,1)|
+-------+--------------------------+---------+---------------+-------------------+-------------------------------------+
|             Total parameters         28       112.0 Bytes                                                            |
+-------+--------------------------+---------+---------------+-------------------+-------------------------------------+
)");
}

TEST(TableTest, BytesInTheLargestUnit) {
  EXPECT_EQ(FormatBytes(15245130 * 4.0), "58.16 MBytes");
  EXPECT_EQ(FormatBytes(101958 * 4.0), "398.27 KBytes");
  EXPECT_EQ(FormatBytes(1536), "1.5 KBytes");
  EXPECT_EQ(FormatBytes(2048), "2.0 KBytes");
  EXPECT_EQ(FormatBytes(512), "512.0 Bytes");
}

TEST(TableTest, TheSummaryCountsTypesInTheirOrder) {
  EXPECT_EQ(FormatSummary(*BuildModel("simplecnn", {}), DType::kFloat32),
            "  9 layers: 2 Conv2D, MaxPool2D, Flatten, 2 FC, Relu, Dropout, Softmax\n"
            "  input (28, 28, 1), output (10,), 101958 parameters (398.27 KBytes)\n");
  const std::string deep = FormatSummary(*BuildModel("resnet20_cifar10", {}), DType::kFloat32);
  EXPECT_EQ(std::ranges::count(deep, '\n'), 2) << deep;
}

}  // namespace
}  // namespace dtnn
