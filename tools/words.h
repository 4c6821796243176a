// Sentences that a reader has to read twice, found by their words: in comments and string literals
// of sources, and in Markdown. A pattern knows words, not grammar: it matches only what is hardly
// ever right, and a finding says which words are better.
//
// Places that were there before the check are counted in tools/words_left.txt, which only shrinks.

#ifndef DTNN_TOOLS_WORDS_H_
#define DTNN_TOOLS_WORDS_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtnn::words {

struct Finding {
  int line;
  std::string pattern;  // its name: "who", "is-no", ...
  std::string text;     // "tensor/a.h:3: "is no": write "is not a ..." (is-no)"
};

// `path` is relative to the root of the repository and says by its extension what `text` is: C++,
// CUDA or Markdown. In the order of the lines.
std::vector<Finding> Check(std::string_view path, std::string_view text);

// By file and pattern, the findings that are still allowed.
using Ceilings = std::map<std::pair<std::string, std::string>, int>;

// Lines of "file pattern count"; those that begin with "#" are comments. Lines of another form go
// to `errors`.
Ceilings ReadCeilings(std::string_view text, std::vector<std::string>& errors);

// The findings of a file that exceed its ceiling, and the ceilings that are too high; by path, the
// texts.
std::vector<std::string> CheckTexts(const std::map<std::string, std::string>& texts,
                                    const Ceilings& ceilings);

// The sources and Markdown files below `root`, by path: all but third_party, what is hidden, and
// the words of this check itself.
std::map<std::string, std::string> ReadTexts(const std::filesystem::path& root);

}  // namespace dtnn::words

#endif  // DTNN_TOOLS_WORDS_H_
