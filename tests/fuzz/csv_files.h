// Whole tables in text.
#pragma once

#include "tests/fuzz/support.h"

namespace limpid::fuzz {

inline std::vector<Bytes> csv_files() {
  std::vector<Bytes> all;
  for (const std::string_view text :
       {"a,b,c\n1,x,0\n2.5,y,1\n-3e4,x,0\n1,NA,1\n", "1;2;3\r\n4;5;6\r\n\r\n7;8;9",
        "name\tvalue\n\"two\nlines\"\t1\n\"a \"\"quote\"\"\"\t2\n",
        "\xef\xbb\xbfh\xc3\xb6he,breite\n1,2\n3,4\n",
        "5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,versicolor\n6.3,3.3,virginica\n5.8,?,virginica\n"})
    all.push_back(bytes_of(text));
  return all;
}

}  // namespace limpid::fuzz
