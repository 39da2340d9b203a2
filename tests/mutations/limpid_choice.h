// The choice of a program between breakages: included by each source that has some (choices.py).
#ifndef LIMPID_CHOICE_H
#define LIMPID_CHOICE_H
extern "C" {
extern int limpid_choice;
extern unsigned char limpid_choices_reached[65536];
}
#define LIMPID_CHOSEN(n) (limpid_choices_reached[n] = 1, limpid_choice == (n))
#endif
