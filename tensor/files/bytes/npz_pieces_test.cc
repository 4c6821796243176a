// Archives whose members come in many short reads.

#include <dlfcn.h>
#include <zip.h>

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tensor/files/npz.h"
#include "tensor/must.h"
#include "tools/testing/tensors.h"

// In place of libzip's: a call may read less than it is asked for.
extern "C" zip_int64_t zip_fread(zip_file_t* file, void* to, zip_uint64_t bytes) {
  static const auto real = reinterpret_cast<decltype(&zip_fread)>(dlsym(RTLD_NEXT, "zip_fread"));
  return real(file, to, std::min(bytes, zip_uint64_t{7}));
}

namespace dtnn {
namespace {

TEST(NpzPiecesTest, MembersComeInAnyNumberOfReads) {
  for (const char* const name : {"stored.npz", "deflated.npz"}) {
    NpzReader reader = Must(NpzReader::Open(std::string("tensor/files/testdata/") + name));
    EXPECT_EQ(testing::Values(Must(reader.Read("conv_weights"))),
              (std::vector<double>{-2, -1, 0, 1, 2, 3}))
        << name;
  }
}

}  // namespace
}  // namespace dtnn
