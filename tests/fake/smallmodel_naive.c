/* SPDX-License-Identifier: MIT */
#include "tests/fake/smallmodel_naive.h"

#include <string.h>

#define NOT_PROMISED (-2) /* -1 is generation 0 */

uint64_t smallmodel_naive_w(const struct small_past *past, uint16_t stream)
{
	uint64_t w = past->first[past->cycle - 1][stream] - 1;

	for (unsigned int i = past->cycle_writes; i < past->writes; i++) {
		if (past->write[i].stream != stream)
			continue;
		if (!past->write[i].is_durable)
			break;
		w = past->write[i].sequence;
	}
	return w;
}

/* P11: "cut seen" counts behind "cut asked", before power is back, and as long
 * as the writer says nothing more. */
static void hear_event(uint64_t event, struct small_knowledge *knowledge)
{
	if (event == ACKBODY_EVENT_CUT_ASKED)
		knowledge->is_cut_asked = true;
	else if (event == ACKBODY_EVENT_RESTORED)
		knowledge->is_restored = true;
	else if (knowledge->is_cut_asked && !knowledge->is_restored)
		knowledge->is_cut_seen = true;
}

static void hear(const struct small_past *past, const struct small_tell *tell,
		 unsigned int cycle, struct small_knowledge *knowledge)
{
	enum small_told said = SMALL_DURABLE; /* P1, P2 */

	if (tell->type == ACKBODY_EVENT) {
		hear_event(tell->last, knowledge);
		return;
	}
	knowledge->is_cut_seen = false;
	if (tell->type == ACKBODY_RESERVE) {
		knowledge->limit[tell->stream] = tell->last;
		return;
	}
	if (tell->type == ACKBODY_ISSUED) {
		knowledge->limit[tell->stream] =
			tell->last < past->first[cycle - 1][tell->stream]
				? knowledge->limit_before[tell->stream]
				: tell->last;
		return;
	}
	if (tell->type == ACKBODY_COMPLETED)
		said = SMALL_COMPLETED;
	else if (knowledge->is_cut_asked)
		said = SMALL_SHADOW;
	for (unsigned int i = 0; i < past->writes; i++) {
		const struct small_write *write = &past->write[i];

		if (write->cycle == cycle && write->stream == tell->stream &&
		    write->sequence >= tell->first &&
		    write->sequence <= tell->last && knowledge->told[i] < said)
			knowledge->told[i] = (uint8_t)said;
	}
}

/* A new cycle: what was not durable stays in doubt for ever (P3). */
static void forget_doubt(struct small_knowledge *knowledge)
{
	knowledge->is_cut_asked = false;
	knowledge->is_cut_seen = false;
	knowledge->is_restored = false;
	for (unsigned int i = 0; i < SMALL_WRITES_MAX; i++)
		if (knowledge->told[i] != SMALL_DURABLE)
			knowledge->told[i] = SMALL_NOTHING;
}

void smallmodel_naive_know(const struct small_bounds *bounds,
			   const struct small_past *past,
			   const struct small_log *log,
			   struct small_knowledge *knowledge)
{
	memset(knowledge, 0, sizeof(*knowledge));
	knowledge->has_log = !log->is_missing;
	knowledge->cycles = log->cycles;
	for (unsigned int k = 0; k < SMALL_STREAMS_MAX; k++)
		knowledge->limit[k] = knowledge->has_log ? 0 : UINT64_MAX;
	for (unsigned int c = 0; knowledge->has_log && c < log->cycles; c++) {
		unsigned int end =
			c + 1 < log->cycles ? past->begins[c + 1] : log->tells;

		forget_doubt(knowledge);
		for (unsigned int k = 0; k < bounds->streams; k++) {
			knowledge->limit_before[k] = knowledge->limit[k];
			knowledge->limit[k] = past->early[c][k];
		}
		for (unsigned int i = past->begins[c]; i < end; i++)
			hear(past, &log->tell[i], c + 1, knowledge);
		knowledge->is_late[c] =
			knowledge->is_cut_asked && !knowledge->is_cut_seen;
	}
}

static bool is_ours(const struct small_atom *atom)
{
	return atom->kind == SMALL_VERSION || atom->kind == SMALL_STRAY;
}

/* P9: a log that ends before WRITE was issued is not the whole log. */
static bool is_beyond(const struct small_knowledge *knowledge,
		      const struct small_write *write)
{
	return knowledge->has_log &&
	       (write->cycle > knowledge->cycles ||
		write->sequence > knowledge->limit[write->stream]);
}

bool smallmodel_naive_is_short(const struct small_past *past,
			       const struct small_knowledge *knowledge)
{
	for (unsigned int i = 0; i < past->writes; i++)
		if (is_beyond(knowledge, &past->write[i]))
			return true;
	return false;
}

static bool is_impossible(const struct small_past *past,
			  const struct small_knowledge *knowledge,
			  const struct small_atom *atom)
{
	return is_ours(atom) && atom->write >= 0 &&
	       is_beyond(knowledge, &past->write[atom->write]);
}

unsigned int smallmodel_naive_seen(const struct small_bounds *bounds,
				   const struct small_past *past,
				   const struct small_knowledge *knowledge,
				   const struct small_media *media)
{
	unsigned int seen = 0;

	for (unsigned int i = 0; i < smallmodel_places(bounds); i++)
		if (is_ours(&media->at[i]) && media->at[i].write >= 0 &&
		    !is_impossible(past, knowledge, &media->at[i]))
			seen |= 1u << media->at[i].write;
	return seen;
}

/* P5: the set of writes that the records of SEEN prove durable. */
static unsigned int proved_by(const struct small_past *past, unsigned int seen)
{
	unsigned int proved = 0;

	for (unsigned int i = 0; i < past->writes; i++)
		for (unsigned int j = 0; j < past->writes; j++) {
			const struct small_write *record = &past->write[i];
			const struct small_write *write = &past->write[j];

			if (seen >> i & 1 && record->stream == write->stream &&
			    record->cycle == write->cycle &&
			    write->sequence <= record->w)
				proved |= 1u << j;
		}
	return proved;
}

/* The newest write to SLOT that is in SET; -1 where none is. */
static int newest_in(const struct small_past *past, unsigned int set,
		     unsigned int slot)
{
	int newest = -1;

	for (unsigned int i = 0; i < past->writes; i++)
		if (set >> i & 1 && past->write[i].slot == slot)
			newest = (int)i;
	return newest;
}

static unsigned int set_of(const struct small_knowledge *knowledge,
			   enum small_told told)
{
	unsigned int set = 0;

	for (unsigned int i = 0; i < SMALL_WRITES_MAX; i++)
		if (knowledge->told[i] == told)
			set |= 1u << i;
	return set;
}

/* P11: the writes of CYCLE, or of any, whose cycle's media proof is doubtful:
 * the writer may have gone on when the power was back. */
static unsigned int late_of(const struct small_past *past,
			    const struct small_knowledge *knowledge,
			    unsigned int cycle)
{
	unsigned int set = 0;

	for (unsigned int i = 0; i < past->writes; i++)
		if (knowledge->is_late[past->write[i].cycle - 1] &&
		    (cycle == ~0u || cycle == past->write[i].cycle))
			set |= 1u << i;
	return set;
}

struct view {
	const struct small_bounds *bounds;
	const struct small_past *past;
	const struct small_knowledge *knowledge;
	const struct small_media *media;
	int promised; /* of the slot: a write, -1, or NOT_PROMISED */
};

/* A version of this run's at its own place. Writes stand in the order of
 * their numbers wherever two share a slot. */
static bool is_at_home(const struct small_atom *atom)
{
	return atom->kind == SMALL_VERSION;
}

static char class_alone(const struct view *view, unsigned int place)
{
	const struct small_atom *atom = &view->media->at[place];

	if (is_impossible(view->past, view->knowledge, atom))
		return 'x';
	switch (atom->kind) {
	case SMALL_UNREADABLE:
		return 'r';
	case SMALL_HUNG:
		return 'h';
	case SMALL_GONE:
		return 'g';
	case SMALL_STRAY:
		return 'm'; /* P7 */
	case SMALL_ZEROS:
	case SMALL_ONES:
		return view->promised == NOT_PROMISED ? 'u' : 'b';
	case SMALL_CORRUPT:
		return view->promised == NOT_PROMISED ? 'u' : 'c'; /* P8 */
	case SMALL_FOREIGN:
		return view->promised == NOT_PROMISED ? 'u' : 'f';
	case SMALL_VERSION:
		break;
	}
	if (atom->write == view->promised)
		return 'i';
	return atom->write > view->promised ? 'n' : 'l'; /* P3; P4, P6 */
}

/* P8: one logical block holds two contents that would each be right. */
static bool is_torn_block(const struct view *view, const char *classes,
			  unsigned int first)
{
	int version = NOT_PROMISED;
	bool has_other = false, has_version = false;

	for (unsigned int i = 0; i < view->bounds->logical; i++) {
		const struct small_atom *atom = &view->media->at[first + i];
		char class = classes[first + i];

		if (class == 'u')
			has_other = true;
		if (class != 'i' && class != 'n')
			continue;
		if (has_version && atom->write != version)
			has_other = true;
		has_version = true;
		version = atom->write;
	}
	return has_version && has_other;
}

static void class_slot(const struct view *view, unsigned int slot,
		       char *classes)
{
	unsigned int first = slot * view->bounds->atoms;
	unsigned int end = first + view->bounds->atoms;
	bool has_part = false;

	for (unsigned int i = first; i < end; i++) {
		classes[i] = class_alone(view, i);
		has_part |= classes[i] == 'i' && view->promised >= 0;
	}
	for (unsigned int i = first; i < end; i++)
		if (has_part && classes[i] == 'l')
			classes[i] = 't'; /* a part of the promised is there */
	for (unsigned int i = first; i < end; i += view->bounds->logical) {
		if (!is_torn_block(view, classes, i))
			continue;
		for (unsigned int k = i; k < i + view->bounds->logical; k++)
			if (strchr("inu", classes[k]) != NULL)
				classes[k] = 'c';
	}
}

static size_t letter(char class)
{
	return (size_t)(strchr(SMALL_CLASSES, class) - SMALL_CLASSES);
}

static bool is_accusing(const struct view *view, char class)
{
	if (strchr("inux", class) != NULL)
		return false;
	return view->promised != NOT_PROMISED || class == 'c';
}

/* A class counts once a slot: intact where all is intact, newer where nothing
 * is wrong. */
static void count_slot(const struct view *view, unsigned int slot,
		       struct small_outcome *outcome)
{
	unsigned int first = slot * view->bounds->atoms;
	unsigned int end = first + view->bounds->atoms;
	bool has[SMALL_CLASSES_COUNT] = {false}, is_broken = false;

	for (unsigned int i = first; i < end; i++) {
		char class = outcome->classes[i];
		bool is_accused = is_accusing(view, class);

		is_broken |= is_accused;
		if (strchr("inux", class) == NULL)
			outcome->told++;
		if (strchr("inux", class) == NULL && !is_accused)
			continue; /* told, and breaks nothing */
		outcome->atoms[letter(class)]++;
		has[letter(class)] = true;
	}
	if (is_broken)
		has[letter('n')] = false;
	if (is_broken || has[letter('n')])
		has[letter('i')] = false;
	for (size_t i = 0; i < SMALL_CLASSES_COUNT; i++)
		outcome->writes[i] = (uint8_t)(outcome->writes[i] + has[i]);
}

/* Nothing of WRITE or newer is in SLOT, and all of it could be read. */
static bool is_gone(const struct view *view, unsigned int slot, int write)
{
	unsigned int first = slot * view->bounds->atoms;

	if (write <= view->promised || write < 0)
		return false;
	for (unsigned int i = first; i < first + view->bounds->atoms; i++) {
		const struct small_atom *atom = &view->media->at[i];

		if (atom->kind >= SMALL_UNREADABLE ||
		    (is_at_home(atom) && atom->write >= write))
			return false;
	}
	return true;
}

/* Does the place that the stray atom was meant for miss it (P7)? */
static bool is_missed(const struct view *view, const int *promised,
		      const char *classes, unsigned int place)
{
	unsigned int atoms = view->bounds->atoms;
	unsigned int home = view->media->at[place].home / atoms;
	struct view there = *view;

	there.promised = promised[home];
	if (classes[place] != 'm' || home == place / atoms)
		return false;
	for (unsigned int i = home * atoms; i < (home + 1) * atoms; i++)
		if (is_accusing(&there, classes[i]))
			return true;
	return false;
}

static uint8_t status_of(const struct small_outcome *outcome, bool is_broken)
{
	if (strchr(outcome->classes, 'x') != NULL)
		return 2;
	if (is_broken)
		return 1;
	return outcome->completed_lost > 0 ? 0 : 3;
}

void smallmodel_naive_judge(const struct small_bounds *bounds,
			    const struct small_past *past,
			    const struct small_knowledge *knowledge,
			    const struct small_media *media,
			    struct small_outcome *outcome)
{
	struct view view = {bounds, past, knowledge, media, -1};
	unsigned int by_log = set_of(knowledge, SMALL_DURABLE);
	unsigned int by_media = proved_by(
		past, smallmodel_naive_seen(bounds, past, knowledge, media));
	unsigned int late = late_of(past, knowledge, ~0u);
	unsigned int durable = by_log | (by_media & ~late), slot;
	unsigned int shadow =
		(set_of(knowledge, SMALL_SHADOW) |
		 (by_media & late_of(past, knowledge, knowledge->cycles))) &
		~durable;
	unsigned int completed =
		set_of(knowledge, SMALL_COMPLETED) & ~durable & ~shadow;
	int promised[SMALL_SLOTS_MAX];
	bool is_broken = false;

	memset(outcome, 0, sizeof(*outcome));
	outcome->by_log = (uint8_t)__builtin_popcount(by_log);
	outcome->by_media = (uint8_t)__builtin_popcount(by_media);
	for (slot = 0; slot < bounds->slots; slot++) {
		view.promised = newest_in(past, durable, slot); /* P4, P6 */
		if (view.promised < 0 && bounds->is_unfilled)
			view.promised = NOT_PROMISED;
		promised[slot] = view.promised;
		outcome->judged = (uint8_t)(outcome->judged +
					    (view.promised != NOT_PROMISED));
		class_slot(&view, slot, outcome->classes);
		count_slot(&view, slot, outcome);
		outcome->shadow_lost =
			(uint8_t)(outcome->shadow_lost +
				  is_gone(&view, slot,
					  newest_in(past, shadow, slot)));
		outcome->completed_lost =
			(uint8_t)(outcome->completed_lost +
				  is_gone(&view, slot,
					  newest_in(past, completed, slot)));
	}
	for (unsigned int i = 0; i < smallmodel_places(bounds); i++) {
		view.promised = promised[i / bounds->atoms];
		is_broken |= is_accusing(&view, outcome->classes[i]);
		if (is_missed(&view, promised, outcome->classes, i))
			outcome->missed |= (uint8_t)(1u << i);
	}
	outcome->status = status_of(outcome, is_broken);
}

/* P3, P4, P6, P8: each logical block holds one of the versions from the newest
 * durable one on, whichever. Without a fill, what was there before is one. */
bool smallmodel_naive_is_honest(const struct small_bounds *bounds,
				const struct small_past *past,
				const struct small_media *media)
{
	unsigned int durable = 0;

	for (unsigned int i = 0; i < SMALL_WRITES_MAX; i++)
		if (i < past->writes && past->write[i].is_durable)
			durable |= 1u << i;
	for (unsigned int i = 0; i < smallmodel_places(bounds); i++) {
		const struct small_atom *atom = &media->at[i];
		const struct small_atom *first =
			&media->at[i - i % bounds->logical];
		int oldest = newest_in(past, durable, i / bounds->atoms);

		if (bounds->is_unfilled && oldest < 0 &&
		    atom->kind >= SMALL_ZEROS && atom->kind <= SMALL_FOREIGN &&
		    first->kind >= SMALL_ZEROS && first->kind <= SMALL_FOREIGN)
			continue;
		if (atom->kind != SMALL_VERSION ||
		    first->kind != SMALL_VERSION ||
		    atom->write != first->write || atom->write < oldest)
			return false;
	}
	return true;
}
