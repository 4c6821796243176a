#include "models/table.h"

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

TEST(TableTest, BytesInTheLargestUnit) {
  EXPECT_EQ(FormatBytes(15245130 * 4.0), "58.16 MBytes");
  EXPECT_EQ(FormatBytes(101958 * 4.0), "398.27 KBytes");
  EXPECT_EQ(FormatBytes(1536), "1.5 KBytes");
  EXPECT_EQ(FormatBytes(2048), "2.0 KBytes");
  EXPECT_EQ(FormatBytes(512), "512.0 Bytes");
}

}  // namespace
}  // namespace dtnn
