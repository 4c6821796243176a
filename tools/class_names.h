// The classes that a C++ source defines, by their qualified names: for the rule that no two files
// define one. The linker keeps a single copy of the functions of two such classes, without a word,
// and the objects of the other class run it.
//
// Reads tokens, not C++: what is declared inside functions, or below a namespace without a name,
// belongs to its file alone and is left out.

#ifndef DTNN_TOOLS_CLASS_NAMES_H_
#define DTNN_TOOLS_CLASS_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace dtnn::layering {

struct ClassName {
  std::string name;  // "dtnn::Tensor", "dtnn::Trainer::Options", "std::hash<dtnn::Shape>"
  int line;          // of the opening brace
};

// The names of classes, structs, unions and enumerations, in the order of the text.
std::vector<ClassName> ClassesIn(std::string_view text);

}  // namespace dtnn::layering

#endif  // DTNN_TOOLS_CLASS_NAMES_H_
