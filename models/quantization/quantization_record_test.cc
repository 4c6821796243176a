#include "models/quantization/quantization_record.h"

#include <string>

#include "gtest/gtest.h"
#include "models/graph/builder.h"

namespace dtnn {
namespace {

QuantizationRecord Record() {
  return {.method = "minmax",
          .samples = 512,
          .input = "(6, 6, 3)",
          .preprocessing = ToJson(Preprocessing()),
          .ranges = {{1, {-0.1, 2.0 / 3}}, {3, {0, 0}}},
          .in_float = {{1, "reads the network's input"}}};
}

std::string Error(const std::string& text) {
  return std::string(ParseQuantization(text).status().message());
}

TEST(QuantizationRecordTest, TextHoldsAllBits) {
  const auto record = ParseQuantization(ToText(Record()));
  ASSERT_TRUE(record.ok()) << record.status();
  EXPECT_EQ(*record, Record());
  EXPECT_EQ(record->choice().ranges, Record().ranges);
  EXPECT_EQ(record->choice().in_float, (std::set<int>{1}));
}

TEST(QuantizationRecordTest, OtherInputIsRefused) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({6, 6, 3}).Conv2d(2).Flatten().Fc(2);
  const Graph graph = *b.Build();
  EXPECT_EQ(Record().CheckInput(graph, {}), absl::OkStatus());
  const Preprocessing other = {.normalization = {{0.5}, {2}}};
  EXPECT_THAT(
      std::string(Record().CheckInput(graph, other).message()),
      ::testing::StartsWith("was quantized for other input: its ranges are of samples with"));
  QuantizationRecord larger = Record();
  larger.input = "(7, 6, 3)";
  EXPECT_EQ(larger.CheckInput(graph, {}).message(),
            "was quantized for samples of (7, 6, 3), but its network takes (6, 6, 3); quantize it "
            "again");
}

TEST(QuantizationRecordTest, DamagedTextsAreRefused) {
  EXPECT_EQ(Error("range { layer: 4 high: 1 }"), "has version 0; this program reads version 1");
  EXPECT_EQ(Error("version: 2"), "has version 2; this program reads version 1");
  EXPECT_EQ(Error("version: 1 range { layer: 4 low: 1 high: 0 }"),
            "layer 4 has the range 1 to 0; expected two numbers in order");
  EXPECT_EQ(Error("version: 1 range { layer: 4 low: nan high: 0 }"),
            "layer 4 has the range nan to 0; expected two numbers in order");
  EXPECT_EQ(Error("version: 1 range { layer: 4 high: 1 } range { layer: 4 high: 1 }"),
            "layer 4 has two ranges");
  EXPECT_EQ(Error("version: 1 float_layer { layer: 4 } float_layer { layer: 4 }"),
            "layer 4 is named twice as one in float32");
  EXPECT_NE(Error("version: 1 ranges {}"), "");
}

}  // namespace
}  // namespace dtnn
