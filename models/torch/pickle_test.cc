#include "models/torch/pickle.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// {"w": a tensor of (2, 3) at place 4 of storage 0, of 16 floats}, as protocol 2 has it.
std::string Valid() {
  using namespace std::string_literals;
  return "\x80\x02}q\x00(X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\nq\x01(("
         "X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x00"
         "0X\x03\x00\x00\x00"
         "cpuK\x10tQK\x04K\x02K\x03\x86K\x03K\x01\x86\x89}tRu."s;
}

std::string Error(const std::string& bytes) {
  return std::string(ReadPickle(bytes).status().message());
}

TEST(PickleTest, ATensorIsAViewOfAStorage) {
  const auto tensors = ReadPickle(Valid());
  ASSERT_TRUE(tensors.ok()) << tensors.status();
  ASSERT_EQ(tensors->size(), 1U);
  const PickledTensor& tensor = (*tensors)[0];
  EXPECT_EQ(tensor.name, "w");
  EXPECT_EQ(tensor.storage, "0");
  EXPECT_EQ(tensor.type, "FloatStorage");
  EXPECT_EQ(tensor.elements, 16);
  EXPECT_EQ(tensor.offset, 4);
  EXPECT_THAT(tensor.extents, ElementsAre(2, 3));
  EXPECT_THAT(tensor.strides, ElementsAre(3, 1));
}

// In as many bytes as they need.
TEST(PickleTest, NumbersHaveAnyLength) {
  using namespace std::string_literals;
  const std::string valid = Valid();
  const size_t at = valid.find("QK\4") + 1;
  for (const auto& [code, offset] : {std::pair("K\xff"s, int64_t{255}),
                                     {"M\1\x82"s, 0x8201},
                                     {"J\1\2\3\4"s, 0x04030201},
                                     {"\x8a\0"s, 0},
                                     {"\x8a\1\x7f"s, 127},
                                     {"\x8a\3\1\2\3"s, 0x030201},
                                     {"J\xfe\xff\xff\xff"s, -2},
                                     {"\x8a\1\x80"s, -128},
                                     {"\x8a\2\0\x80"s, -32768},
                                     {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xff"s, -1},
                                     {"\x8a\x08\1\2\3\4\5\6\7\0"s, 0x0007060504030201}}) {
    const auto tensors = ReadPickle(std::string(valid).replace(at, 2, code));
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    EXPECT_EQ((*tensors)[0].offset, offset);
  }
}

TEST(PickleTest, NothingElseIsLoaded) {
  for (const char* name : {"os\nsystem", "builtins\neval", "torch\nload", "torch.nn\nLinear",
                           "torch\nFloatStorag", "collections\nOrderedDict.x"}) {
    EXPECT_THAT(Error(std::string("\x80\x02") + "c" + name + "\n."), HasSubstr("could run any"));
  }
  EXPECT_THAT(Error("\x80\x04\x8c\x02os\x8c\x06system\x93)R."), HasSubstr("\"os.system\""));
  EXPECT_THAT(Error("cos\nsystem\n"), HasSubstr("save model.state_dict()"));
}

std::string Text(const std::string& text) {
  std::string coded = "X";
  for (int i = 0; i < 4; ++i) coded += char(text.size() >> (8 * i));
  return coded + text;
}

// Code that leaves a tensor of so many axes, of a storage with this key, and puts it under 1.
std::string TensorOf(size_t axes, const std::string& key = "0") {
  const std::string zeros = "(" + std::string(axes, 'N') + "t";
  return "ctorch._utils\n_rebuild_tensor_v2\nq\3((" + Text("storage") + "ctorch\nFloatStorage\n" +
         Text(key) + Text("cpu") + "K\1tQK\1" + zeros + zeros + "tq\4Rq\1";
}

TEST(PickleTest, MemoryStaysInBounds) {
  const auto file = [](const std::string& tensor, const std::string& name = "w") {
    return "}" + Text(name) + tensor + "s.";
  };
  EXPECT_EQ(ReadPickle(file(TensorOf(6, std::string(256, 'k')))).status(), absl::OkStatus());
  EXPECT_THAT(Error(file(TensorOf(7))), HasSubstr("a tensor of 7 axes; expected at most 6"));
  EXPECT_THAT(Error(file(TensorOf(1, std::string(257, 'k')))), HasSubstr("of an unknown form"));
  EXPECT_EQ(ReadPickle(file(TensorOf(1), std::string(1024, 'n'))).status(), absl::OkStatus());
  EXPECT_THAT(Error(file(TensorOf(1), std::string(1025, 'n'))), HasSubstr("a name of more than"));
  std::string calls, items;
  for (int i = 0; i < kMostTensors; ++i) {
    calls += "h\3h\4R";
    items += "h\5h\1s";
  }
  EXPECT_THAT(Error("}" + TensorOf(1) + calls + "."), HasSubstr("more than 65536 tensors"));
  EXPECT_THAT(Error("}" + Text("w") + "q\5" + TensorOf(1) + "s" + items + "."),
              HasSubstr("more than 65536 tensors"));
}

TEST(PickleTest, TheOnlyDictionaryOfTensorsIsTaken) {
  const std::string tensor = Text("w") + TensorOf(1) + "s", loss = Text("loss") + "h\1s";
  const auto entry = [](const std::string& key, const std::string& items) {
    return Text(key) + "}" + items + "s";
  };
  const std::string epoch = Text("epoch") + "K\1s";
  const std::string state = entry("model_state_dict", tensor);
  const auto tutorial = ReadPickle("}" + epoch + state +
                                   entry("optimizer_state_dict", entry("state", "")) + loss + ".");
  ASSERT_TRUE(tutorial.ok()) << tutorial.status();
  ASSERT_EQ(tutorial->size(), 1U);
  EXPECT_EQ((*tutorial)[0].name, "w");
  EXPECT_EQ(ReadPickle("}" + state + entry("model", Text("v") + "h\1s") + ".")->at(0).name, "v");
  EXPECT_THAT(Error("}" + state + entry("ema", Text("v") + "h\1s") + "."),
              HasSubstr("several dictionaries of tensors by name, as model.state_dict() is; save "
                        "that one alone. The file has the keys \"model_state_dict\", \"ema\""));
  // What has numbers for keys is the state of an optimizer.
  const std::string numbered = std::string("K\0", 2) + "h\1s";
  EXPECT_EQ(ReadPickle("}" + state + entry("state", numbered) + ".")->at(0).name, "w");
  EXPECT_THAT(Error("}" + epoch + entry("model", "") + "."),
              HasSubstr("no dictionary of tensors by name, as model.state_dict() is; save that one "
                        "alone. The file has the keys \"epoch\", \"model\""));
}

// A tensor with another object in the place of one of its parts.
TEST(PickleTest, EveryPartOfATensorIsChecked) {
  const std::vector<std::string> storage = {Text("storage"), "ctorch\nFloatStorage\n", Text("0"),
                                            Text("cpu"), "K\1"};
  const auto storage_of = [](const std::vector<std::string>& parts) {
    std::string code = "(";
    for (const std::string& part : parts) code += part;
    return code + "tQ";
  };
  const std::vector<std::string> tensor = {storage_of(storage), "K\1", "K\1\x85", "K\1\x85"};
  const auto file = [](const std::string& function, const std::vector<std::string>& parts) {
    std::string code = "}" + Text("w") + function + "(";
    for (const std::string& part : parts) code += part;
    return code + "tRs.";
  };
  const auto tensor_of = [&](const std::vector<std::string>& parts) {
    return file("ctorch._utils\n_rebuild_tensor_v2\n", parts);
  };
  EXPECT_EQ(ReadPickle(tensor_of(tensor)).status(), absl::OkStatus());
  const std::vector<std::string> others = {Text("other"), "N", "K\2", ")", "ctorch\nIntStorage\n"};
  const auto check = [&](const std::vector<std::string>& parts, const auto& make,
                         std::string_view message, const std::vector<std::vector<int>>& fit) {
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t j = 0; j < others.size(); ++j) {
        if (std::ranges::count(fit[i], int(j)) > 0) continue;
        std::vector<std::string> changed = parts;
        changed[i] = others[j];
        EXPECT_EQ(Error(make(changed)), message) << "part " << i << " is " << others[j];
      }
    }
    std::vector<std::string> fewer = parts;
    fewer.pop_back();
    EXPECT_EQ(Error(make(fewer)), message);
  };
  const auto with_storage = [&](const std::vector<std::string>& parts) {
    std::vector<std::string> changed = tensor;
    changed[0] = storage_of(parts);
    return tensor_of(changed);
  };
  // Any name of a storage, any key, any device and any number of elements fit.
  check(storage, with_storage, "its pickle has a storage of an unknown form",
        {{}, {4}, {0}, {0, 1, 2, 3, 4}, {2}});
  std::vector<std::string> more = storage;
  more.push_back("K\1");
  EXPECT_EQ(Error(with_storage(more)), "its pickle has a storage of an unknown form");
  check(tensor, tensor_of, "its pickle has a tensor of an unknown form", {{}, {2}, {}, {}});
  EXPECT_EQ(Error(file("N", tensor)), "its pickle calls what is not a function");
  EXPECT_EQ(Error("}" + Text("w") + "ctorch._utils\n_rebuild_tensor_v2\nNRs."),
            "its pickle calls what is not a function");
  // A parameter is the tensor that it is of, and nothing else.
  const std::string parameter = "ctorch._utils\n_rebuild_parameter\n";
  const std::string made =
      "ctorch._utils\n_rebuild_tensor_v2\n(" + tensor[0] + tensor[1] + tensor[2] + tensor[3] + "tR";
  EXPECT_EQ(ReadPickle(file(parameter, {made, "N", ")"})).status(), absl::OkStatus());
  EXPECT_EQ(Error(file(parameter, {"N", "N", ")"})), "its pickle has a tensor of an unknown form");
  EXPECT_EQ(Error(file(parameter, {})), "its pickle has a tensor of an unknown form");
  EXPECT_EQ(Error(file("ccollections\nOrderedDict\n", {"N"})),
            "its pickle has a tensor of an unknown form");
}

TEST(PickleTest, DamagedPicklesAreRefused) {
  const std::string valid = Valid();
  for (size_t size = 0; size < valid.size(); ++size) {
    EXPECT_FALSE(ReadPickle(valid.substr(0, size)).ok()) << size;
  }
  const std::pair<const char*, const char*> kPickles[] = {
      {".", "takes from an empty stack"},
      {"t.", "has no mark to go back to"},
      {"R.", "takes from an empty stack"},
      {"(t", "ends too early"},
      {"(\x86", "takes from an empty stack"},
      {"}K\1s.", "adds to what is not a list or dictionary"},
      {"K\1K\2K\3s.", "adds to what is not a list or dictionary"},
      {"Nq\1h\2.", "recalls what it never had"},
      {"q\1", "remembers nothing"},
      {"N(q\1", "remembers nothing"},
      {"K\1Q.", "has a storage of an unknown form"},
      {"X\xff\xff\xff\xff", "ends too early"},
      {"]e.", "has no mark to go back to"},
      {"(K\1K\2e.", "adds to what is not a list or dictionary"},
      {"}(K\1K\2K\3u.", "adds to what is not a list or dictionary"},
      {"](K\1K\2u.", "adds to what is not a list or dictionary"},
      {"\x8a\x09", "has a number of 9 bytes"},
      {"cos", "ends too early"},
      {"i", "has code 105, which files of tensors do not need"},
      {"Nb.", "takes from an empty stack"}};
  for (const auto& [pickle, error] : kPickles) {
    EXPECT_EQ(Error(pickle), std::string("its pickle ") + error) << pickle;
  }
  EXPECT_THAT(Error(std::string(1048577, 'N')), HasSubstr("more than 1048576 objects"));
  EXPECT_THAT(Error(std::string(1048576, 'N')), Not(HasSubstr("objects")));
  EXPECT_THAT(Error("}."), HasSubstr("no dictionary of tensors"));
}

}  // namespace
}  // namespace dtnn
