#include "models/torch/pickle.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

TEST(PickleTest, NothingElseIsLoaded) {
  for (const char* name : {"os\nsystem", "builtins\neval", "torch\nload", "torch.nn\nLinear",
                           "torch\nFloatStorag", "collections\nOrderedDict.x"}) {
    EXPECT_THAT(Error(std::string("\x80\x02") + "c" + name + "\n."), HasSubstr("could run any"));
  }
  EXPECT_THAT(Error("\x80\x04\x8c\x02os\x8c\x06system\x93)R."), HasSubstr("\"os.system\""));
  EXPECT_THAT(Error("cos\nsystem\n"), HasSubstr("save model.state_dict()"));
}

TEST(PickleTest, DamagedPicklesAreRefused) {
  const std::string valid = Valid();
  for (size_t size = 0; size < valid.size(); ++size) {
    EXPECT_FALSE(ReadPickle(valid.substr(0, size)).ok()) << size;
  }
  for (const char* pickle : {".", "t.", "R.", "(t", "}K\1s.", "K\1K\2K\3s.", "Nq\1h\2.", "K\1Q.",
                             "X\xff\xff\xff\xff", "]e.", "(K\1K\2e.", "\x8a\x09", "i", "Nb."}) {
    EXPECT_FALSE(ReadPickle(pickle).ok()) << pickle;
  }
  EXPECT_THAT(Error(std::string(size_t{2} << 20, 'N')), HasSubstr("more than 1048576 objects"));
  EXPECT_THAT(Error("}."), HasSubstr("no dictionary of tensors"));
}

}  // namespace
}  // namespace dtnn
